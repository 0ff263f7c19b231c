import { buffer } from 'node:stream/consumers';
import { commandResult } from '../../protocol/values';
import type { Command } from '../command';
import { isOn } from '../command';
import { encoded } from '../encoded';
import { exitCodeOf } from '../exit-code';
import { findOrCreateSession } from '../sessions';
import { cancelOnInterrupt, copyOutput, OutputClosed } from '../streaming';
import { executionOptions, executionUsage, readExecution } from './execution';

export const run: Command = {
  name: 'run',
  summary: 'Run a command in a session and stream its output',
  usage: `limpet run [options] -- COMMAND…

One argument is shell text ('cd src && ls'); several are words and reach the program exactly.
Ends with the command's exit code; 124 after a timeout, 130 after Ctrl-C.

${executionUsage}
  -i, --stdin          pass on standard input, read to its end first
      --json           print the whole result as JSON instead of streaming`,
  options: { ...executionOptions, stdin: { type: 'boolean', short: 'i' } },
  takesCommand: true,

  async run(context, invocation) {
    const { sessionName, creation, execution } = readExecution(context, invocation);
    const input = isOn(invocation.values, 'stdin') ? await buffer(process.stdin) : undefined;
    const client = await context.connect();
    const { sessionId } = await findOrCreateSession(client, sessionName, creation);
    const { commandId } = await client.request('exec.start', {
      ...execution,
      sessionId,
      ...(input === undefined ? {} : { keepStdinOpen: true }),
    });
    const interrupt = cancelOnInterrupt(client, commandId);
    try {
      if (input !== undefined) await client.request('exec.input', { commandId, ...encoded(input), eof: true });
      if (context.screen.json) {
        const finished = await client.request('exec.wait', { commandId });
        context.screen.answer('exec.run', commandResult.parse(finished));
        return exitCodeOf(finished);
      }
      const result = await copyOutput(context, commandId);
      if (context.screen.err.isTTY === true) for (const note of result.notes) context.screen.note(note);
      return exitCodeOf(result);
    } catch (thrown) {
      if (!(thrown instanceof OutputClosed)) throw thrown;
      await client.request('exec.cancel', { commandId }).catch(() => undefined);
      return 141;
    } finally {
      interrupt.dispose();
    }
  },
};
