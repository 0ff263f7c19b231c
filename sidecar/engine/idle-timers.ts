const snapshotAfterMs = 100;

/** What is due once a session has been idle for a while: a snapshot of its shell, and in the end its own. */
export class IdleTimers {
  private restingSince = performance.now();
  private snapshot: NodeJS.Timeout | undefined;
  private timeout: NodeJS.Timeout | undefined;

  constructor(
    private readonly idleTimeoutMs: number | undefined,
    private readonly due: {
      takeSnapshot: () => void;
      /** Whether the session was idle indeed; if not, it has as long again. */
      timeOut: () => boolean;
    },
  ) {}

  /** Nothing runs in the session any more. */
  rest(): void {
    this.restingSince = performance.now();
    this.restartTimeout();
    this.scheduleSnapshot();
  }

  /** A timer that is already set is left alone and looks for itself whether it is too early: cheaper than setting it anew. */
  scheduleSnapshot(inMs = snapshotAfterMs): void {
    this.snapshot ??= setTimeout(() => {
      this.snapshot = undefined;
      const early = snapshotAfterMs - (performance.now() - this.restingSince);
      if (early > 0) this.scheduleSnapshot(early);
      else this.due.takeSnapshot();
    }, inMs).unref();
  }

  restartTimeout(): void {
    if (this.idleTimeoutMs === undefined) return;
    clearTimeout(this.timeout);
    this.timeout = setTimeout(() => {
      if (!this.due.timeOut()) this.restartTimeout();
    }, this.idleTimeoutMs).unref();
  }

  stop(): void {
    clearTimeout(this.snapshot);
    clearTimeout(this.timeout);
  }
}
