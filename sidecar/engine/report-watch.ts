import type { Slot } from '../output/slot';
import type { Command } from './command';
import type { ShellHost } from './shell-host';
import { followWhenOpened } from './slots';

const watchAfterMs = 1;
const longestLookMs = 1000;
const mostReports = 50;

/** Looks after a command that the shell runs: passes its output on as it comes, and notices that its report was lost. */
export class ReportWatch {
  private sentAt = 0;
  private start: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly host: ShellHost,
    /** The shell waits for its next line and has not reported this command. */
    private readonly onLost: (command: Command) => void,
  ) {}

  /**
   * Answers with what ends it. A quick command is over before anything of this is worth its cost, even setting a timer for each.
   */
  begin(command: Command, slot: Slot, firstLookMs: number): () => void {
    let stops: (() => void)[] = [];
    this.sentAt = performance.now();
    this.start = () => {
      command.output.log.goLive();
      stops = [followWhenOpened(slot), this.lookForLostReport(command, firstLookMs)];
    };
    this.schedule(watchAfterMs);
    return () => {
      this.start = undefined;
      for (const stop of stops) stop();
    };
  }

  private schedule(inMs: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.start === undefined) return;
      const early = watchAfterMs - (performance.now() - this.sentAt);
      if (early > 0) this.schedule(early);
      else this.start();
    }, inMs);
  }

  /**
   * A user's function called like one of our words, or a trap that skips commands, can swallow a report. Then the shell waits
   * for its next line although this command has not been reported; that shows.
   */
  private lookForLostReport(command: Command, firstMs: number): () => void {
    let wasIdle = false;
    let wait = firstMs;
    let left = mostReports;
    let timer: NodeJS.Timeout;
    const look = () => {
      const isIdle = this.host.isWaiting;
      if (isIdle && wasIdle) {
        // What keeps every report back, a trap that skips commands for one, keeps everything back; another shell may do better.
        if (--left < 0) this.host.signal('SIGKILL');
        else this.onLost(command);
      }
      wasIdle = isIdle;
      if (!isIdle) wait = Math.min(wait * 2, longestLookMs);
      timer = setTimeout(look, wait);
      timer.unref();
    };
    timer = setTimeout(look, wait);
    timer.unref();
    return () => clearTimeout(timer);
  }
}
