import path from 'node:path';
import { type Command, text } from '../command';

export const mcp: Command = {
  name: 'mcp',
  summary: 'Serve the tools for agents over MCP',
  usage: `limpet mcp [options]

Speaks the Model Context Protocol on standard input and output, for agents that start it. Sessions are shared with
everything else on this machine that uses Limpet.

  -C, --cwd DIR        the agent's workspace folder (default: the current directory)`,
  options: { cwd: { type: 'string', short: 'C' } },

  async run(context, { values }) {
    // The protocol's library is large, and no other command needs it.
    const { serveMcp } = await import('./server');
    return serveMcp(context, path.resolve(context.cwd, text(values, 'cwd') ?? '.'));
  },
};
