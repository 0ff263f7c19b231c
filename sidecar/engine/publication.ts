import { reach } from '../checkpoints';
import type { LogStore } from '../output/log-store';
import type { Command } from './command';

const waitMs = 10;
const longestWaitMs = 1000;
/** Other sessions have their turn in between. */
const sliceMs = 2;
/** While commands come one after the other; those that are forgotten meanwhile need not be published at all. */
const betweenSlicesMs = 20;

/**
 * Puts `N.exit` and `N.labelers.done` where outside readers look for them. Nobody who asked waits for that, so it is done in
 * batches while the shell is busy or the session idle: making files takes longer than running a short command.
 */
export class Publication {
  private readonly exits = new Set<Command>();
  private readonly ends = new Set<Command>();
  private timer: NodeJS.Timeout | undefined;
  /** When the first and when the last of those that wait came. */
  private since = 0;
  private lastAt = 0;
  private idleAt = 0;

  constructor(
    private readonly logs: LogStore,
    /** Called with nobody waiting, for whatever else can be put off. */
    private readonly onIdle: () => void,
  ) {}

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

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.publish(Number.POSITIVE_INFINITY);
    this.onIdle();
    this.logs.removeForgotten(Number.POSITIVE_INFINITY);
  }

  /** Publishes, and removes what is forgotten, as far as there is time; whether that was all. */
  private publish(deadline: number): boolean {
    if (this.exits.size > 0) reach('publication-begun');
    for (const command of this.exits) {
      if (performance.now() > deadline) return false;
      this.exits.delete(command);
      this.logs.publishExit(command.output.log, command.end?.exitCode ?? null);
      // At once, so that no more logs are open at a time than must be.
      if (this.ends.delete(command)) this.logs.publishEnd(command.output.log);
    }
    for (const command of this.ends) {
      if (performance.now() > deadline) return false;
      this.ends.delete(command);
      this.logs.publishEnd(command.output.log);
    }
    return this.logs.removeForgotten(deadline);
  }

  /** A timer that is already set looks for itself whether it is too early: cheaper than setting it anew for each command. */
  private schedule(): void {
    this.lastAt = performance.now();
    if (this.timer !== undefined) return;
    this.since = this.lastAt;
    this.setTimer(waitMs);
  }

  private setTimer(inMs: number): void {
    this.timer = setTimeout(() => {
      const now = performance.now();
      const early = Math.min(waitMs - (now - this.lastAt), longestWaitMs - (now - this.since));
      if (early > 0) return this.setTimer(early);
      const isAll = this.publish(now + sliceMs);
      // While there is always more to publish, what can be put off cannot be put off for ever.
      if (isAll || now - this.idleAt > longestWaitMs) {
        this.idleAt = now;
        this.onIdle();
      }
      // What was put off may have left files to remove.
      if (!isAll || this.logs.hasForgotten) return this.setTimer(now - this.lastAt < waitMs ? betweenSlicesMs : 1);
      this.timer = undefined;
    }, inMs).unref();
  }
}
