import { signalName } from '../../protocol/values';
import type { Command } from '../command';
import { only, text, UsageError } from '../command';
import { findSession } from '../sessions';

export const stop: Command = {
  name: 'stop',
  summary: 'End a running command, and only that',
  usage: `limpet stop [options] COMMAND_ID

Sends INT, then TERM, then KILL until the command and its processes are gone.

  -s, --session NAME   the command that runs in this session, instead of COMMAND_ID
      --signal NAME    send this signal first, for example TERM
      --json           as JSON`,
  options: { session: { type: 'string', short: 's' }, signal: { type: 'string' } },

  async run({ screen, connect }, { values, positionals }) {
    const session = text(values, 'session');
    const commandId = session === undefined ? only(positionals, 'COMMAND_ID') : undefined;
    const signal = readSignal(text(values, 'signal'));
    const client = await connect();
    const target =
      commandId === undefined ? { sessionId: (await findSession(client, session ?? '')).sessionId } : { commandId };
    const done = await client.request('exec.cancel', { ...target, ...(signal === undefined ? {} : { signal }) });
    if (screen.json) screen.answer('exec.cancel', done);
    else screen.line(`${done.commandId} ${done.outcome}`);
    return 0;
  },
};

function readSignal(given: string | undefined) {
  if (given === undefined) return undefined;
  const name = given.toUpperCase();
  const found = signalName.safeParse(name.startsWith('SIG') ? name : `SIG${name}`);
  if (!found.success) throw new UsageError(`--signal must be one of ${signalName.options.join(', ')}.`);
  return found.data;
}
