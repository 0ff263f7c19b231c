import type { LogStore } from '../output/log-store';
import type { Command } from './command';

const waitMs = 10;
const longestWaitMs = 1000;

/**
 * Puts `N.exit` and `N.labelers.done` where outside readers look for them. Nobody who asked waits for that, so it is done in
 * batches while the shell is busy or the session idle: making files takes longer than running a short command.
 */
export class Publication {
  private readonly exits = new Set<Command>();
  private readonly ends = new Set<Command>();
  private timer: NodeJS.Timeout | undefined;
  private since = 0;

  constructor(private readonly logs: LogStore) {}

  add(command: Command): void {
    this.exits.add(command);
    this.schedule();
  }

  ended(command: Command): void {
    this.logs.finish(command.output.log);
    this.ends.add(command);
    this.schedule();
  }

  /** Leaves a command out; whether it had already been published. */
  drop(command: Command): boolean {
    const wasWaiting = this.exits.delete(command);
    return !this.ends.delete(command) || !wasWaiting;
  }

  /** For a session that is never idle. */
  flushIfDue(): void {
    if (this.timer !== undefined && performance.now() - this.since > longestWaitMs) this.flush();
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const command of this.exits) this.logs.publishExit(command.output.log, command.end?.exitCode ?? null);
    this.exits.clear();
    for (const command of this.ends) this.logs.publishEnd(command.output.log);
    this.ends.clear();
  }

  private schedule(): void {
    if (this.timer !== undefined) {
      this.timer.refresh();
      return;
    }
    this.since = performance.now();
    this.timer = setTimeout(() => this.flush(), waitMs);
    this.timer.unref();
  }
}
