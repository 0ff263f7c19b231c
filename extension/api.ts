import type { SidecarClient } from '../client/client';
import type { SidecarState, Supervisor } from './supervisor';

/** What other extensions get from `vscode.extensions.getExtension('limpet.limpet').exports`. */
export interface LimpetApi {
  readonly sidecar: {
    readonly state: SidecarState['kind'];
    onDidChangeState(listener: (kind: SidecarState['kind']) => void): { dispose(): void };
    /** The connection to the sidecar, as soon as there is one. */
    client(): Promise<SidecarClient>;
  };
}

export function createApi(supervisor: Supervisor): LimpetApi {
  return {
    sidecar: {
      get state() {
        return supervisor.state.kind;
      },
      onDidChangeState: (listener) => supervisor.onDidChange((state) => listener(state.kind)),
      client: () => supervisor.client(),
    },
  };
}
