import type { Limits } from '../../protocol/limits';
import type { Log } from '../daemon/log';
import type { Call, Caller, Server } from '../server';

/** What every transport is given. */
export interface TransportContext {
  readonly server: Server;
  readonly limits: Limits;
  readonly log: Log;
  /** How long a new connection may say nothing. */
  readonly handshakeMs: number;
}

/** One client, as the process sees it. */
export interface Connection {
  /** Resolves once every request that was read has been answered. */
  answered(): Promise<void>;
  /** Sends what is queued, then closes. */
  end(): Promise<void>;
  /** Closes at once. Idempotent. */
  dispose(): void;
  onClosed(listener: () => void): void;
}

/** The calls of one connection that can be told to stop; most calls never need a signal, so it is made on demand. */
export class Calls {
  private readonly stoppable = new Set<OpenCall>();
  private gone = false;

  constructor(private readonly room: Call['room']) {}

  begin(caller: Caller, emit: Call['emit'], endless = false): OpenCall {
    const call = new OpenCall(caller, emit, this.room, endless, () => this.stoppable.delete(call));
    this.stoppable.add(call);
    if (this.gone) call.stop();
    return call;
  }

  /** The client will ask no more, but still listens: only what has no end of its own is stopped. */
  stopEndless(): void {
    for (const call of this.stoppable) if (call.endless) call.stop();
  }

  /** The client is gone: nobody waits for these any more. */
  stopAll(): void {
    this.gone = true;
    for (const call of this.stoppable) call.stop();
  }
}

export class OpenCall implements Call {
  private controller: AbortController | undefined;
  private stopped = false;

  constructor(
    readonly caller: Caller,
    readonly emit: Call['emit'],
    readonly room: Call['room'],
    readonly endless: boolean,
    readonly end: () => void,
  ) {}

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.stopped) this.controller.abort();
    return this.controller.signal;
  }

  stop(): void {
    this.stopped = true;
    this.controller?.abort();
  }
}
