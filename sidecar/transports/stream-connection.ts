import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../server';
import { Calls, type Connection, type TransportContext } from './connection';
import { InFlight } from './in-flight';
import { Outlet } from './outlet';
import { ending } from './streams';

/** A client at the other end of two streams, whatever it speaks: what it waits for, what it has yet to read, and its end. */
export class StreamConnection implements Connection {
  readonly inFlight = new InFlight();
  readonly calls = new Calls(() => this.outlet.ready());
  readonly outlet: Outlet;
  private readonly listeners: (() => void)[] = [];
  private readonly handshake: NodeJS.Timeout;
  private closed = false;

  constructor(
    private readonly input: Readable,
    private readonly output: Writable,
    private readonly caller: Caller,
    private readonly context: TransportContext,
  ) {
    this.outlet = new Outlet(output, input, (reason) => this.giveUp(reason));
    this.handshake = setTimeout(() => this.giveUp('it said nothing'), context.handshakeMs).unref();
    const close = () => this.dispose();
    input.on('error', close);
    input.on('close', () => {
      // A destroyed input never says 'end'.
      if (!input.readableEnded) close();
    });
    output.on('error', close);
    output.on('close', close);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** It has said something, so somebody is there. */
  heard(): void {
    clearTimeout(this.handshake);
  }

  giveUp(reason: string): void {
    const { transport, name } = this.caller;
    this.context.log.warn({ transport, client: name, reason }, 'client given up');
    this.dispose();
  }

  /** The client will ask no more: what it waits for is answered, then it is let go. */
  finish(): void {
    void this.answered().then(() => this.end());
  }

  answered(): Promise<void> {
    return this.inFlight.none();
  }

  async end(): Promise<void> {
    await ending(this.output);
    this.dispose();
  }

  dispose(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.handshake);
    this.calls.stopAll();
    this.outlet.dispose();
    this.input.destroy();
    this.output.destroy();
    for (const listener of this.listeners.splice(0)) listener();
  }

  onClosed(listener: () => void): void {
    if (this.closed) listener();
    else this.listeners.push(listener);
  }
}
