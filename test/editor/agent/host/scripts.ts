import { job } from './job';
import type { Move, Script } from './scripted-model';

const run = (command: string): Move => ({ tool: 'limpet_run_command', input: { command } });

/** One move after the other, and then a word. */
const inOrder =
  (...moves: Move[]): Script =>
  (results) =>
    moves[results.length] ?? { say: 'That was all.' };

/** What the agent can be told to do, by the first word. */
export const scripts = (port: number): Record<string, Script> => ({
  job: job(port),
  twice: inOrder(run('echo once'), run('echo twice')),
  allowed: inOrder(run('touch allowed')),
  skipped: inOrder(run('touch skipped')),
  sleep: inOrder(run('echo begun; sleep 100')),
  tools: (_, tools) => ({ say: tools.join(' ') }),
  mcp: inOrder({ tool: 'mcp_limpet_limpet_run_command', input: { command: 'echo over mcp' } }),
});
