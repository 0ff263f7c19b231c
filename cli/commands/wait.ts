import path from 'node:path';
import type { WaitCondition } from '../../protocol/values';
import type { Command, Values } from '../command';
import { isOn, only, text } from '../command';
import { exitCodeOf } from '../exit-code';
import { duration, given, wholeNumber } from '../values';

export const wait: Command = {
  name: 'wait',
  summary: 'Wait until a command prints, listens, falls silent or ends',
  usage: `limpet wait [conditions] COMMAND_ID

Ends with 0 as soon as one condition holds, 124 after the timeout, and with the command's exit code
(at least 1) if it ends before any other condition holds.

      --for-output RE   its output matches
      --for-port N      something listens on the port
      --for-file PATH   the file exists
      --for-silence T   it has printed nothing for so long
      --for-input       it waits for input
      --exit            it ends (default); the exit code is the command's
  -t, --timeout TIME    give up after 500ms, 30s, 5m, 1h
      --json            the answer as JSON`,
  options: {
    'for-output': { type: 'string' },
    'for-port': { type: 'string' },
    'for-file': { type: 'string' },
    'for-silence': { type: 'string' },
    'for-input': { type: 'boolean' },
    exit: { type: 'boolean' },
    timeout: { type: 'string', short: 't' },
  },

  async run({ screen, cwd, connect }, { values, positionals }) {
    const commandId = only(positionals, 'COMMAND_ID');
    const until = conditions(values, cwd);
    const client = await connect();
    const answer = await client.request('exec.wait', {
      commandId,
      until: until.length === 0 ? [{ exit: true }] : until,
      ...given({ timeoutMs: duration(text(values, 'timeout')) }),
    });
    if (screen.json) screen.answer('exec.wait', answer);
    else screen.line(answer.met);
    if (answer.met === 'timeout') return 124;
    if (answer.met !== 'exit') return 0;
    const code = exitCodeOf(answer);
    return until.length === 0 || isOn(values, 'exit') ? code : Math.max(code, 1);
  },
};

function conditions(values: Values, cwd: string): WaitCondition[] {
  const output = text(values, 'for-output');
  const port = wholeNumber(text(values, 'for-port'), '--for-port');
  const file = text(values, 'for-file');
  const silenceMs = duration(text(values, 'for-silence'));
  return [
    ...(output === undefined ? [] : [{ output }]),
    ...(port === undefined ? [] : [{ port }]),
    ...(file === undefined ? [] : [{ file: path.resolve(cwd, file) }]),
    ...(silenceMs === undefined ? [] : [{ silenceMs }]),
    ...(isOn(values, 'for-input') ? [{ input: true as const }] : []),
    ...(isOn(values, 'exit') ? [{ exit: true as const }] : []),
  ];
}
