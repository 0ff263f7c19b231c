import { SidecarUnavailable } from '../../client/client';
import type { Command } from '../command';

export const shutdown: Command = {
  name: 'shutdown',
  summary: 'End the sidecar and every session',
  usage: `limpet shutdown [--keep-sessions]

  --keep-sessions   End only the sidecar; its sessions live on, and the next sidecar goes on with them`,
  options: { 'keep-sessions': { type: 'boolean' } },

  async run({ screen, connect }, { values }) {
    try {
      const client = await connect({ start: false });
      const gone = new Promise<void>((resolve) => client.onClose(resolve));
      await client.request('system.shutdown', values['keep-sessions'] === true ? { keepSessions: true } : {});
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
