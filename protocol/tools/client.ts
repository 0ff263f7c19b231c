import type { MethodName, Params, Result } from '../methods';

/** All that the tools need of a connection to the sidecar. */
export interface ToolClient {
  request<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>>;
}

/** Whoever called a tool can change their mind. */
export interface Cancellation {
  onCancel(listener: () => void): { dispose(): void };
}
