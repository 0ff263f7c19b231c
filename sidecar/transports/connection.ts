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
  private readonly stoppable = new Set<AbortController>();
  private gone = false;

  begin(caller: Caller, emit: Call['emit'], onStop?: (stop: () => void) => void): Call & { end(): void } {
    let controller: AbortController | undefined;
    const make = () => {
      const made = new AbortController();
      controller = made;
      if (this.gone) made.abort();
      else this.stoppable.add(made);
      onStop?.(() => made.abort());
      return made;
    };
    return {
      caller,
      emit,
      get signal() {
        return (controller ?? make()).signal;
      },
      end: () => {
        if (controller !== undefined) this.stoppable.delete(controller);
      },
    };
  }

  /** The client is gone: nobody waits for these any more. */
  stopAll(): void {
    this.gone = true;
    for (const controller of this.stoppable) controller.abort();
    this.stoppable.clear();
  }
}
