import { type CallToolResult, Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { SidecarUnavailable } from '../../client/client';
import type { Cancellation } from '../../protocol/tools/client';
import { inputSchema, toolNames, tools } from '../../protocol/tools/definitions';
import { guidance } from '../../protocol/tools/guidance';
import { workspaceAt } from '../../protocol/tools/sessions';
import { Toolbox } from '../../protocol/tools/toolbox';
import { productVersion } from '../../protocol/version';
import type { Context } from '../command';
import { LastingClient } from './lasting-client';

/** Serves until its client closes standard input. */
export async function serveMcp(context: Context, folder: string): Promise<number> {
  const client = new LastingClient(() => context.connect());
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  const connection = serveStdio(() => createServer(client, folder));
  await ended;
  await connection.close();
  return 0;
}

function createServer(client: LastingClient, folder: string): Server {
  const server = new Server(
    { name: 'limpet', title: 'Limpet', version: productVersion },
    { capabilities: { tools: {} }, instructions: guidance },
  );
  let toolbox: Toolbox | undefined;
  server.setRequestHandler('tools/list', () => ({ tools: toolNames.map(describeTool) }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const origin = server.getClientVersion()?.name.slice(0, 64) || 'mcp';
    toolbox ??= new Toolbox({ client, workspace: workspaceAt(folder), origin });
    return call(toolbox, params.name, params.arguments, cancellationOf(mcpReq.signal));
  });
  return server;
}

function describeTool(name: (typeof toolNames)[number]) {
  const { title, description, readOnly } = tools[name];
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema(name), type: 'object' as const },
    annotations: { title, readOnlyHint: readOnly, openWorldHint: !readOnly },
  };
}

async function call(
  toolbox: Toolbox,
  name: string,
  input: unknown,
  cancellation: Cancellation,
): Promise<CallToolResult> {
  const answer = ({ text, isError }: { text: string; isError: boolean }): CallToolResult => ({
    content: [{ type: 'text', text }],
    isError,
  });
  try {
    return answer(await toolbox.call(name, input, cancellation));
  } catch (thrown) {
    if (!(thrown instanceof SidecarUnavailable)) throw thrown;
    return answer({ text: `Error: ${thrown.message} "limpet doctor" in a terminal says more.`, isError: true });
  }
}

const cancellationOf = (signal: AbortSignal): Cancellation => ({
  onCancel(listener) {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
    return { dispose: () => signal.removeEventListener('abort', listener) };
  },
});
