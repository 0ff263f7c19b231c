import { readlinkSync } from 'node:fs';
import { failure, LimpetError } from '../../protocol/errors';
import type { Slot } from '../output/slot';
import { holdersOf } from '../processes/command-processes';
import { findProcess } from '../processes/process-table';
import { plainReport } from '../shells/dialect';
import type { Command, Ending } from './command';
import { reportedEnd, shellExitedEnd } from './command-end';
import type { SessionFiles } from './command-files';
import type { ShellHost } from './shell-host';
import type { ShellExit } from './shell-process';
import { closesSoon, followWhenOpened } from './slots';

/** What a command left behind often ends in the same moment (a `tee` it wrote to); its output is then still waited for. */
const holderGraceMs = 8;
const watchAfterMs = 1;
const firstLookMs = 20;
const longestLookMs = 1000;
const mostDeliveries = 3;

/** Words in a command that may end the shell, or replace the trap that would take a snapshot then. */
const mayEndShell = /\b(exit|exec|kill|pkill|killall|logout|return|set|setopt|trap|ulimit)\b/;
const setsTrap = /\btrap\b/;
const setsErrorTrap = /\btrap\b[^\n]*\bERR\b/;

type End =
  | { kind: 'reported'; status: number; cwd: string }
  | { kind: 'exited'; exit: ShellExit }
  | { kind: 'destroyed' };

/** How a foreground command came out: an ending, or an error if it was not run. */
export type ForegroundResult = { end: Ending; isClosed: boolean } | { error: LimpetError } | undefined;

/** Runs commands in the shell itself, one at a time. */
export class Foreground {
  private current: Command | undefined;
  private lastStatus = 0;
  private hasErrorTrap = false;
  /** The user has given one of our words to a function, so reports must do without. */
  private isShadowed = false;
  private unpreparedBy: string | undefined;
  private end: (end: End) => void = () => {};

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
  ) {}

  /** Runs a command to its end. Nothing if the session was destroyed meanwhile. */
  async run(command: Command, slot: Slot, onSent: () => void): Promise<ForegroundResult> {
    const { host } = this;
    const { text } = command.request;
    const notes: string[] = [];
    const isRisky = mayEndShell.test(text) || host.flags.includes('e');
    if (isRisky) await host.snapshot();
    this.unpreparedBy = undefined;
    const end = await this.deliver(command, slot, notes, onSent);
    if (end.kind === 'destroyed') return undefined;
    if (end.kind === 'exited') return this.afterExit(command, slot, end.exit);
    host.cwd = end.cwd === '' ? host.cwd : end.cwd;
    if (this.unpreparedBy !== undefined) return { error: unprepared(this.unpreparedBy, command) };
    if (setsTrap.test(text)) host.send(host.dialect.rearm());
    if (setsErrorTrap.test(text)) this.hasErrorTrap = true;
    this.lastStatus = end.status;
    const ending = reportedEnd(command, end.status, host.cwd);
    ending.notes.push(...notes);
    return slot.drain() === 'closed' ? { end: ending, isClosed: true } : this.settle(ending, slot);
  }

  reported(number: number, status: number, cwd: string): void {
    if (number === this.current?.number) this.end({ kind: 'reported', status, cwd });
  }

  unprepared(why: string): void {
    this.unpreparedBy = why;
  }

  exited(exit: ShellExit): void {
    if (this.current !== undefined) this.end({ kind: 'exited', exit });
  }

  destroyed(): void {
    this.end({ kind: 'destroyed' });
  }

  /** Sends the reporting line once more: a signal may have swallowed the first. */
  reportAgain(command: Command): void {
    this.host.channel.send(this.report(command.number));
  }

  /** Gives the command to the shell. A shell that ended before it read it has run nothing, so the next one gets it. */
  private async deliver(command: Command, slot: Slot, notes: string[], onSent: () => void): Promise<End> {
    for (let delivery = 1; ; delivery++) {
      if (!this.host.isAlive) notes.push(...(await this.host.ensure()));
      const ended = new Promise<End>((resolve) => {
        this.end = resolve;
      });
      const line = this.line(command, slot);
      this.current = command;
      this.host.lastNumber = command.number;
      this.host.send(line);
      this.host.announced = command.number + 1;
      onSent();
      const stopWatching = this.watch(command, slot);
      const end = await ended;
      stopWatching();
      this.current = undefined;
      if (end.kind !== 'exited' || delivery === mostDeliveries || this.host.channel.takeBackLines() !== line)
        return end;
      await this.host.recover(end.exit);
    }
  }

  private line(command: Command, slot: Slot): string {
    const { host, files, hasErrorTrap } = this;
    const { number, request } = command;
    const before = { tracing: host.flags.includes('x'), hasErrorTrap };
    const line = host.dialect.foreground({
      number,
      files: {
        text: files.writeForeground(host.dialect.commandText(request.text, before)),
        ...files.streams(command, slot),
      },
      lastStatus: this.lastStatus,
      announce: host.announced !== number,
      prepared: files.prepare(command, host.dialect),
      hasErrorTrap,
    });
    if (!this.isShadowed) return line;
    return line.replace(/[^\n]*\n$/, this.report(number));
  }

  private report(number: number): string {
    const { host, files } = this;
    return this.isShadowed ? plainReport(number, files.directory.file('ctl')) : host.dialect.report(number);
  }

  /** A quick command is over before anything of this is worth its cost. */
  private watch(command: Command, slot: Slot): () => void {
    let stops: (() => void)[] = [];
    const timer = setTimeout(() => {
      stops = [followWhenOpened(slot), this.lookForLostReport(command)];
    }, watchAfterMs);
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }

  /**
   * A user's function called like one of our words, or a trap that skips commands, can swallow a report. Then the shell waits
   * for its next line although this command has not been reported; that shows, and another kind of report is sent.
   */
  private lookForLostReport(command: Command): () => void {
    let wasIdle = false;
    let wait = firstLookMs;
    let timer: NodeJS.Timeout;
    const look = () => {
      const isIdle = this.isShellIdle();
      if (isIdle && wasIdle) {
        this.isShadowed = true;
        this.reportAgain(command);
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

  /** Only between commands is the shell's standard input the one it is sent its lines through. */
  private isShellIdle(): boolean {
    const { pid } = this.host;
    try {
      return (
        pid !== undefined &&
        readlinkSync(`/proc/${pid}/fd/0`) === this.files.directory.file('in') &&
        findProcess(pid)?.state === 'S'
      );
    } catch {
      return false;
    }
  }

  private async afterExit(command: Command, slot: Slot, exit: ShellExit): Promise<ForegroundResult> {
    this.lastStatus = exit.code ?? 0;
    slot.drain();
    const notes = await this.host.recover(exit).catch((error: unknown) => {
      if (!(error instanceof LimpetError)) throw error;
      return [`The shell ended, and no new one could be started yet: ${error.message}`];
    });
    return this.settle(shellExitedEnd(command, exit, this.host.cwd, notes), slot);
  }

  /** Takes what is left of the output, and names who goes on printing. */
  private async settle(end: Ending, slot: Slot): Promise<ForegroundResult> {
    if (await closesSoon(slot, holderGraceMs)) return { end, isClosed: true };
    const heldOpenBy = holdersOf(slot.paths, { except: this.host.pid, since: this.host.since });
    return { end: { ...end, heldOpenBy }, isClosed: false };
  }
}

function unprepared(why: string, command: Command): LimpetError {
  if (why === '1') return failure.cwdNotFound(command.request.overrides?.cwd ?? '');
  return failure.invalidParams('env names a variable that is read-only in this session.');
}
