import type { Command } from '../command';
import { isOn, text } from '../command';
import { ago, brief, ending, size } from '../readable';
import { findSession } from '../sessions';

export const ps: Command = {
  name: 'ps',
  summary: 'List running commands',
  usage: `limpet ps [options]

  -a, --all            finished commands too
  -s, --session NAME   only those of one session
      --json           as JSON`,
  options: { all: { type: 'boolean', short: 'a' }, session: { type: 'string', short: 's' } },

  async run({ screen, connect }, { values }) {
    const client = await connect();
    const session = text(values, 'session');
    const listed = await client.request('exec.list', {
      runningOnly: !isOn(values, 'all'),
      ...(session === undefined ? {} : { sessionId: (await findSession(client, session)).sessionId }),
    });
    if (screen.json) screen.answer('exec.list', listed);
    else {
      screen.table(
        ['ID', 'SESSION', 'STATE', 'PID', 'AGE', 'OUTPUT', 'ORIGIN', 'COMMAND'],
        listed.commands.map((command) => [
          command.commandId,
          command.sessionId,
          ending(command),
          String(command.pid ?? '-'),
          ago(command.startedAt),
          size(command.stdoutBytes + command.stderrBytes),
          command.origin,
          brief(command.command),
        ]),
      );
    }
    return 0;
  },
};
