import type { Command } from '../command';
import { isOn } from '../command';
import { findOrCreateSession } from '../sessions';
import { executionOptions, executionUsage, readExecution } from './execution';

export const start: Command = {
  name: 'start',
  summary: 'Start a command in the background and print its id',
  usage: `limpet start [options] -- COMMAND…

The command inherits the session's directory, variables and functions; the session stays free.

${executionUsage}
      --keep-stdin     leave standard input open for "limpet input"
      --foreground     keep the session busy with it, so that its state changes stay`,
  options: { ...executionOptions, 'keep-stdin': { type: 'boolean' }, foreground: { type: 'boolean' } },
  takesCommand: true,

  async run(context, invocation) {
    const { sessionName, creation, execution } = readExecution(context, invocation);
    const client = await context.connect();
    const { sessionId } = await findOrCreateSession(client, sessionName, creation);
    const started = await client.request('exec.start', {
      ...execution,
      sessionId,
      background: !isOn(invocation.values, 'foreground'),
      keepStdinOpen: isOn(invocation.values, 'keep-stdin'),
    });
    if (context.screen.json) context.screen.answer('exec.start', started);
    else context.screen.line(started.commandId);
    return 0;
  },
};
