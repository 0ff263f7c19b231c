import { SidecarUnavailable } from '../../client/client';
import type { Command } from '../command';

export const shutdown: Command = {
  name: 'shutdown',
  summary: 'End the sidecar and every session',
  usage: `limpet shutdown`,
  options: {},

  async run({ screen, connect }) {
    try {
      const client = await connect({ start: false });
      const gone = new Promise<void>((resolve) => client.onClose(resolve));
      await client.request('system.shutdown', {});
      await gone;
      if (screen.json) screen.data({ pid: client.sidecar.pid });
      return 0;
    } catch (thrown) {
      if (!(thrown instanceof SidecarUnavailable)) throw thrown;
      screen.note('no sidecar is running');
      return 0;
    }
  },
};
