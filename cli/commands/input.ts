import { buffer } from 'node:stream/consumers';
import type { Command } from '../command';
import { isOn, UsageError } from '../command';
import { encoded } from '../encoded';

export const input: Command = {
  name: 'input',
  summary: 'Write to the standard input of a started command',
  usage: `limpet input [options] COMMAND_ID [TEXT…]

The words are joined with spaces and end with a newline. Without words, standard input is sent as it is.
The command must have been started with --keep-stdin.

  -n, --no-newline     add no newline
      --eof            close its standard input afterwards; alone, send nothing else`,
  options: { 'no-newline': { type: 'boolean', short: 'n' }, eof: { type: 'boolean' } },

  async run({ screen, connect }, { values, positionals: [commandId, ...words] }) {
    if (commandId === undefined) throw new UsageError('COMMAND_ID is missing.');
    const eof = isOn(values, 'eof');
    const newline = isOn(values, 'no-newline') ? '' : '\n';
    const typed = words.length > 0 ? { data: words.join(' ') + newline } : {};
    const sent = words.length > 0 || eof ? typed : encoded(await buffer(process.stdin));
    const client = await connect();
    const done = await client.request('exec.input', { commandId, ...sent, eof });
    if (screen.json) screen.answer('exec.input', done);
    return 0;
  },
};
