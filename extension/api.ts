import type { SidecarClient } from '../client/client';
import type * as published from '../limpet';
import { type CommandResult, type CommandSnapshot, commandResult, type SessionInfo } from '../protocol/values';
import { createSession } from './commands/create-session';
import type { Ctx } from './context';
import { textOf } from './output/text-of';
import { folderFor, Toolboxes } from './tools/tool';

/** What other extensions get, and a little more for our own tests. */
export interface LimpetApi extends published.LimpetApi {
  readonly sessions: published.LimpetApi['sessions'] & {
    list(): Promise<SessionInfo[]>;
    commands(sessionId: string): CommandSnapshot[];
  };
  readonly sidecar: published.LimpetApi['sidecar'] & {
    /** The connection to the sidecar, as soon as there is one. */
    client(): Promise<SidecarClient>;
  };
}

export function createApi(ctx: Ctx): LimpetApi {
  const { supervisor, model, connect } = ctx;
  const toolboxes = new Toolboxes(ctx);

  const begin = async (command: string, options: published.RunOptions, background: boolean) => {
    const { session, cwd, env, timeoutMs, origin = 'extension' } = options;
    const { sessionId } = await toolboxes.at(folderFor(cwd)).sessions.findOrCreate(session);
    const client = await connect();
    return client.request('exec.start', {
      sessionId,
      command,
      background,
      origin,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  };

  return {
    apiVersion: 1,
    run: async (command, options = {}) => {
      const { onOutput, cancellation } = options;
      const { commandId } = await begin(command, options, false);
      const client = await connect();
      // One that has just finished needs no cancelling.
      const cancel = () => void client.request('exec.cancel', { commandId }).catch(() => undefined);
      if (cancellation?.isCancellationRequested === true) cancel();
      const cancelling = cancellation?.onCancellationRequested(cancel);
      try {
        const result = await client.stream('exec.follow', { commandId }, (event) => {
          if (event.event !== 'gap') onOutput?.(event.event, textOf(event));
        });
        return readable(result);
      } finally {
        cancelling?.dispose();
      }
    },
    start: async (command, options = {}) => ({ commandId: (await begin(command, options, true)).commandId }),
    wait: async (commandId, timeoutMs) => {
      const client = await connect();
      const answer = await client.request('exec.wait', {
        commandId,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      return answer.state === 'finished' ? readable(commandResult.parse(answer)) : undefined;
    },
    stop: async (commandId) => {
      await (await connect()).request('exec.cancel', { commandId });
    },
    sessions: {
      list: async () => {
        await model.listed();
        return model.sessions;
      },
      create: (options = {}) => createSession(ctx, options),
      destroy: async (sessionId) => {
        await (await connect()).request('session.destroy', { sessionId });
      },
      commands: (sessionId) => model.commands(sessionId),
      onDidChangeSession: (listener) => model.onDidChangeSession(listener),
      onDidChangeCommand: (listener) => model.onDidChangeCommand(listener),
    },
    sidecar: {
      get state() {
        return supervisor.state.kind;
      },
      onDidChangeState: (listener) => supervisor.onDidChange((state) => listener(state.kind)),
      client: connect,
    },
  };
}

function readable(result: CommandResult): published.CommandResult {
  const { stdout, stderr, encoding } = result;
  return {
    ...result,
    stdout: textOf({ data: stdout, encoding: encoding.stdout }),
    stderr: textOf({ data: stderr, encoding: encoding.stderr }),
  };
}
