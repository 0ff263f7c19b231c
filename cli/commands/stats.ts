import type { Command } from '../command';
import { size } from '../readable';

export const stats: Command = {
  name: 'stats',
  summary: 'Count sessions, commands and bytes',
  usage: `limpet stats [--json]`,
  options: {},

  async run({ screen, connect }) {
    const client = await connect();
    const found = await client.request('system.stats', {});
    if (screen.json) screen.answer('system.stats', found);
    else {
      const { sessions, commands, bytes, memory } = found;
      screen.line(`sidecar   pid ${client.sidecar.pid}, version ${client.sidecar.version}, ${size(memory.rssBytes)}`);
      screen.line(`sessions  ${sessions.total} (${sessions.idle} idle, ${sessions.running} running)`);
      screen.line(`commands  ${commands.started} started, ${commands.running} running, ${commands.exited} ended`);
      screen.line(`output    ${size(bytes.stdout)} stdout, ${size(bytes.stderr)} stderr`);
    }
    return 0;
  },
};
