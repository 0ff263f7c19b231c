import { LimpetError } from '../protocol/errors';
import type { Event, MethodName, Params, Result, StreamedMethodName } from '../protocol/methods';
import { productVersion, protocolVersion } from '../protocol/version';
import { type CallOptions, connectionLost, Endpoint } from './endpoint';
import { connectOrStart, defaultStartTimeoutMs, type StartOptions } from './start';

export { followCommand } from './follow';
export { runtimeDirectoryOf, sidecarLogPath, stateDirectoryOf } from './places';
export { untilPublished } from './published';
export { findRuntimes, type Runtime } from './runtimes';
export { SidecarUnavailable } from './start';
export type { CallOptions };

export interface ConnectOptions extends StartOptions {
  /** Becomes the origin of the commands this client runs. */
  clientName: string;
}

/** A connection to a sidecar. Failures are LimpetErrors; a lost connection rejects what was in flight. */
export class SidecarClient {
  private identity: Result<'system.hello'> | undefined;

  /** Finds a living sidecar through the runtime directory, or starts one, and shakes hands. */
  static async connect(options: ConnectOptions): Promise<SidecarClient> {
    const deadline = Date.now() + (options.startTimeoutMs ?? defaultStartTimeoutMs);
    for (;;) {
      const client = new SidecarClient(new Endpoint(await connectOrStart(options)));
      try {
        client.identity = await client.request('system.hello', { clientName: options.clientName, protocolVersion });
        if (options.start === false || !isOlder(client.identity.version)) return client;
        await client.replaceSidecar();
      } catch (thrown) {
        client.dispose();
        // A sidecar that is just ending still accepts connections for a moment.
        const isEnding = thrown instanceof LimpetError && thrown.code === 'shutting_down';
        if (!isEnding || Date.now() > deadline) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  private constructor(private readonly endpoint: Endpoint) {}

  get sidecar(): { pid: number; version: string; protocolVersion: number } {
    if (this.identity === undefined) throw connectionLost();
    return this.identity;
  }

  request<M extends MethodName>(method: M, params: Params<M>, options: CallOptions = {}): Promise<Result<M>> {
    return this.endpoint.request(method, params, options) as Promise<Result<M>>;
  }

  /** As `request`, with every event passed on before the result; a returned promise pauses the stream. */
  stream<M extends StreamedMethodName>(
    method: M,
    params: Params<M>,
    onEvent: (event: Event<M>) => void | Promise<void>,
    options: CallOptions = {},
  ): Promise<Result<M>> {
    const receive = (event: unknown) => onEvent(event as Event<M>);
    return this.endpoint.request(method, params, options, receive) as Promise<Result<M>>;
  }

  onClose(listener: () => void): { dispose(): void } {
    return this.endpoint.onClose(listener);
  }

  dispose(): void {
    this.endpoint.close();
  }

  /** Has an older sidecar hand its sessions over to the one that is started next. */
  private async replaceSidecar(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.onClose(resolve));
    await this.request('system.shutdown', { keepSessions: true });
    await gone;
  }
}

/** Whether a sidecar is of an earlier version than this client. A later one is left in place: it speaks our protocol. */
function isOlder(version: string): boolean {
  const numbers = (text: string) => text.split(/[.-]/).slice(0, 3).map(Number);
  const [theirs, ours] = [numbers(version), numbers(productVersion)];
  for (let at = 0; at < 3; at++) {
    const difference = (theirs[at] ?? 0) - (ours[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
