import type { Readable, Writable } from 'node:stream';

export interface OutletLimits {
  /** Answers waiting beyond this mean that nobody reads them. */
  maxQueuedBytes: number;
  /** With this much waiting nothing more is read from the client; if it does not move for `stallMs`, nobody is there. */
  stallBytes: number;
  stallMs: number;
}

export const outletLimits: OutletLimits = {
  maxQueuedBytes: 64 * 1024 * 1024,
  stallBytes: 1024 * 1024,
  stallMs: 30_000,
};

/**
 * The way out to one client. Streams ask `ready` and pause on it, so they never pile up; plain answers cannot be
 * paused, so a reader that leaves too many of them waiting is given up.
 */
export class Outlet {
  private draining: Promise<void> | undefined;
  private release: (() => void) | undefined;
  private stall: NodeJS.Timeout | undefined;
  private closed = false;
  private readonly onDrain = () => {
    this.goOn();
    this.settle();
  };
  private readonly onGone = () => this.dispose();

  constructor(
    private readonly stream: Writable,
    private readonly input: Readable,
    private readonly giveUp: (reason: string) => void,
    private readonly limits: OutletLimits = outletLimits,
  ) {
    stream.on('drain', this.onDrain);
    stream.on('close', this.onGone);
    stream.on('error', this.onGone);
  }

  write(data: string): void {
    if (this.closed || this.stream.writableEnded) return;
    if (this.stream.writableLength > this.limits.maxQueuedBytes) {
      this.abandon('it leaves its answers unread');
      return;
    }
    this.stream.write(data);
    if (this.stall === undefined && this.stream.writableLength > this.limits.stallBytes) this.holdBack();
  }

  /** Nothing while there is room; otherwise a promise for when there is again, or the client is gone. */
  ready(): Promise<void> | undefined {
    if (this.closed || !this.stream.writableNeedDrain) return undefined;
    this.draining ??= new Promise((resolve) => {
      this.release = resolve;
    });
    return this.draining;
  }

  dispose(): void {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.stall);
    this.stream.off('drain', this.onDrain);
    this.settle();
  }

  private settle(): void {
    const release = this.release;
    this.draining = undefined;
    this.release = undefined;
    release?.();
  }

  private holdBack(): void {
    this.input.pause();
    let before = this.stream.writableLength;
    this.stall = setInterval(() => {
      const now = this.stream.writableLength;
      if (now >= before) this.abandon('it has stopped reading');
      before = now;
    }, this.limits.stallMs);
    this.stall.unref();
  }

  private goOn(): void {
    if (this.stall === undefined) return;
    clearInterval(this.stall);
    this.stall = undefined;
    this.input.resume();
  }

  private abandon(reason: string): void {
    this.dispose();
    this.giveUp(reason);
  }
}
