import type { SidecarClient } from '../client/client';
import type { CommandSnapshot, SessionInfo } from '../protocol/values';
import type { SessionsModel } from './sessions/model';
import type { SidecarState, Supervisor } from './supervisor';

/** What other extensions get from `vscode.extensions.getExtension('limpet.limpet').exports`. */
export interface LimpetApi {
  readonly sidecar: {
    readonly state: SidecarState['kind'];
    onDidChangeState(listener: (kind: SidecarState['kind']) => void): { dispose(): void };
    /** The connection to the sidecar, as soon as there is one. */
    client(): Promise<SidecarClient>;
  };
  readonly sessions: {
    /** The sessions there are, oldest first. */
    list(): Promise<SessionInfo[]>;
    /** What runs or ran in a session, oldest first. */
    commands(sessionId: string): CommandSnapshot[];
    onDidChangeSession(listener: (session: SessionInfo) => void): { dispose(): void };
    onDidChangeCommand(listener: (command: CommandSnapshot) => void): { dispose(): void };
  };
}

export function createApi(supervisor: Supervisor, model: SessionsModel): LimpetApi {
  return {
    sidecar: {
      get state() {
        return supervisor.state.kind;
      },
      onDidChangeState: (listener) => supervisor.onDidChange((state) => listener(state.kind)),
      client: () => supervisor.client(),
    },
    sessions: {
      list: async () => {
        await model.listed();
        return model.sessions;
      },
      commands: (sessionId) => model.commands(sessionId),
      onDidChangeSession: (listener) => model.onDidChangeSession(listener),
      onDidChangeCommand: (listener) => model.onDidChangeCommand(listener),
    },
  };
}
