import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { failure, LimpetError } from '../../protocol/errors';
import { reach } from '../checkpoints';
import type { Slot } from '../output/slot';
import { readsStandardInput } from '../processes/activity';
import { standardInputOf } from '../processes/process-table';
import { inlined, plainReport, putBack } from '../shells/dialect';
import type { Command, Ending } from './command';
import { neverStarted, reportedEnd, shellExitedEnd, unknownEnd } from './command-end';
import { backgroundFile, commandFile, type SessionFiles } from './command-files';
import {
  changesExit,
  descriptorsNamed,
  forbidsInline,
  mayEndShell,
  mayForbidOpening,
  setsErrorTrap,
} from './command-words';
import { isDirectory } from './recovery';
import { type Settled, settled } from './settling';
import type { LastReport, ShellHost } from './shell-host';
import type { ShellExit } from './shell-process';
import { followWhenOpened } from './slots';

const watchAfterMs = 1;
const firstLookMs = 20;
/** A shell that has been asked a question looks idle until it is its turn to run. */
const firstLookAtAdoptedMs = 1000;
const longestLookMs = 1000;
const mostRepeats = 2;
const mostReports = 50;
const interruptedStatus = 128 + constants.signals.SIGINT;
const killedStatus = 128 + constants.signals.SIGKILL;

const foundNothing = "The session's directory was removed while this was to be run, so it is not known whether it ran.";

const opensNothing =
  'The shell could not open files any more, as after "set -r" or a low "ulimit -n", so it could run no command and was replaced.';
const mayNotHaveRun = 'It is not known whether this command was run before that.';

const isGone = (cwd: string) => `${cwd}, where the session was, is gone; it is where its shell began now.`;

type End =
  | { kind: 'reported'; status: number; cwd: string }
  | { kind: 'exited'; exit: ShellExit }
  | { kind: 'never-read' }
  | { kind: 'destroyed' };

/** How a foreground command came out: an ending, or an error if it was not run. */
export type ForegroundResult = Settled | { error: LimpetError } | undefined;

/** Runs commands in the shell itself, one at a time. */
export class Foreground {
  private prepared: Command | undefined;
  private current: Command | undefined;
  private lastStatus = 0;
  hasErrorTrap = false;
  /** Nothing the user did so far makes a difference between a builtin in a file and one without. */
  mayInline: boolean;
  /** The user has given one of our words to a function, so reports must do without. */
  isShadowed = false;
  /** How often the session's directory was removed and made again; what was given before may have found none. */
  restorations = 0;
  private restorationsBefore = 0;
  private unpreparedBy: string | undefined;
  private end: (end: End) => void = () => {};
  /** Set only while a question is open: an answer to another, perhaps another sidecar's, must not be taken for its own. */
  private question: { word: string; answered: (last: LastReport) => void } | undefined;
  private sentAt = 0;
  private startToWatch: (() => void) | undefined;
  private watchTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
    /** The shell has something to do, so there is time for something else. */
    private readonly onSent: () => void,
  ) {
    this.mayInline = host.startsPlain;
  }

  /** Runs a command to its end. Nothing if the session was destroyed meanwhile. */
  async run(command: Command, slot: Slot): Promise<ForegroundResult> {
    const notes: string[] = [];
    this.prepared = command;
    if (mayEndShell.test(command.request.text) || this.host.flags.includes('e')) await this.host.snapshot();
    this.unpreparedBy = undefined;
    if (forbidsInline.test(command.request.text)) this.mayInline = false;
    if (!this.host.isAlive) notes.push(...(await this.host.ensure()));
    if (this.host.isRetired) return undefined;
    if (command.ending !== undefined) return this.neverGiven(command, slot);
    let line = this.line(command, slot);
    let end = await this.give(line, command, slot);
    // A shell that ended before it read the command has run nothing, so the next one gets it.
    for (let more = mostRepeats; more > 0 && end.kind === 'exited'; more--) {
      if (this.host.channel.takeBackLines() !== line) break;
      this.host.neverGave(command.number);
      notes.push(...(await this.host.ensure()));
      if (this.host.isRetired) return undefined;
      if (command.ending !== undefined) return this.neverGiven(command, slot);
      line = this.line(command, slot);
      end = await this.give(line, command, slot);
    }
    return this.conclude(command, slot, end, notes);
  }

  /**
   * Goes on with a command that a sidecar that is gone gave to the shell, or was about to. The shell is asked what it last
   * reported: its answer comes after everything it was sent before, so one that knows nothing of the command has not run it.
   */
  async resume(command: Command, slot: Slot): Promise<ForegroundResult> {
    const wasShadowed = this.isShadowed;
    if (forbidsInline.test(command.request.text)) this.mayInline = false;
    const ended = this.untilEnd(command, slot, firstLookAtAdoptedMs);
    this.host.channel.drainRecords();
    this.ask(({ number, status, cwd }) => {
      if (number < command.number) this.end({ kind: 'never-read' });
      else this.reported(number, status, cwd);
    });
    // A shell that is already gone has been announced as gone before anybody listened.
    void this.host.exited.then((exit) => {
      if (this.current === command && exit !== undefined) this.end({ kind: 'exited', exit });
    });
    const end = await ended;
    this.question = undefined;
    const isUnread = () => {
      const lines = this.host.channel.takeBackLines();
      return lines.includes(commandFile) || lines.includes(inlined) || this.host.endedBefore(command.number);
    };
    if (end.kind === 'exited' && isUnread()) {
      this.host.neverGave(command.number);
      return this.run(command, slot);
    }
    const isKnown = end.kind !== 'never-read' && (end.kind !== 'reported' || this.isShadowed === wasShadowed);
    if (isKnown) return this.conclude(command, slot, end, []);
    if (end.kind === 'never-read' && command.ending === undefined) return this.run(command, slot);
    return this.settled(unknownEnd(command, this.host.cwd, 'Its end was not seen, so its exit code is unknown.'), slot);
  }

  /** Learns from an idle shell of a sidecar that is gone where it is, and waits until it is idle indeed. */
  async getToKnow(): Promise<void> {
    const { host } = this;
    const last = await this.lastReport();
    if (last === undefined) return;
    this.lastStatus = last.status;
    host.cwd = last.cwd === '' ? host.cwd : last.cwd;
  }

  /**
   * Whether a shell of a sidecar that is gone has read the line of a background command. One that has ended cannot be asked:
   * then only a line that is still there was certainly not read.
   */
  async hasRead({ number }: Command): Promise<boolean> {
    const last = await this.lastReport();
    if (last !== undefined) return last.background >= number;
    if (this.host.isAlive) return true;
    return !this.host.channel.takeBackLines().includes(backgroundFile(number));
  }

  /** What an idle shell says when it is asked; nothing if it has ended, or something of the user's keeps it from answering. */
  private async lastReport(): Promise<LastReport | undefined> {
    if (!this.host.isAlive) return undefined;
    const answered = new Promise<LastReport>((resolve) => this.ask(resolve));
    const { stop, idle } = this.untilIdle();
    const last = await Promise.race([answered, this.host.exited.then(() => undefined), idle]);
    stop();
    this.question = undefined;
    return last;
  }

  /** When an adopted shell waits for its next line: if it was asked something before, its answer was swallowed. */
  private untilIdle(): { idle: Promise<undefined>; stop: () => void } {
    let timer: NodeJS.Timeout | undefined;
    const idle = new Promise<undefined>((resolve) => {
      let wasIdle = false;
      timer = setInterval(() => {
        const isIdle = this.isShellIdle();
        if (isIdle && wasIdle) resolve(undefined);
        wasIdle = isIdle;
      }, firstLookAtAdoptedMs);
    });
    return { idle, stop: () => clearInterval(timer) };
  }

  /** Asks the shell what it last reported. */
  private ask(answered: (last: LastReport) => void): void {
    const word = randomBytes(4).toString('hex');
    this.question = { word, answered };
    this.host.channel.send(this.host.dialect.again(word));
  }

  reported(number: number, status: number, cwd: string): void {
    if (number === this.current?.number) this.end({ kind: 'reported', status, cwd });
  }

  repeated(question: string, last: LastReport): void {
    if (question === this.question?.word) this.question.answered(last);
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

  /** Whether the shell is still being made ready for it. */
  isPreparing(command: Command): boolean {
    return this.prepared === command;
  }

  /** Sends the reporting line once more: a signal may have swallowed the first. */
  reportAgain(command: Command): void {
    if (this.current === command) this.host.channel.send(this.report(command.number));
  }

  /** Gives the command to the shell. */
  private give(line: string, command: Command, slot: Slot): Promise<End> {
    this.prepared = undefined;
    this.restorationsBefore = this.restorations;
    this.host.lastNumber = command.number;
    this.host.send(line);
    reach('command-sent');
    this.host.announced = command.number + 1;
    this.onSent();
    return this.untilEnd(command, slot, firstLookMs);
  }

  /** It was ended before its turn came in the shell. */
  private neverGiven(command: Command, slot: Slot): Promise<ForegroundResult> {
    this.prepared = undefined;
    return this.settled(unknownEnd(command, this.host.cwd, neverStarted), slot);
  }

  private conclude(
    command: Command,
    slot: Slot,
    end: End,
    notes: string[],
  ): ForegroundResult | Promise<ForegroundResult> {
    const { host } = this;
    if (end.kind === 'exited') return this.afterExit(command, slot, end.exit);
    if (end.kind !== 'reported') return undefined;
    const before = host.cwd;
    host.cwd = end.cwd === '' ? host.cwd : end.cwd;
    const isLent = command.request.overrides?.cwd !== undefined;
    if (isLent && host.cwd !== before && !isDirectory(before)) notes.push(isGone(before));
    if (this.unpreparedBy !== undefined) return { error: unprepared(this.unpreparedBy, command) };
    if (this.mayHaveFoundNothing(command, slot, end.status)) {
      return this.settled(unknownEnd(command, host.cwd, foundNothing), slot);
    }
    if (this.mayOpenNothing(command, slot, end.status)) return this.checkOpening(command, slot, end.status, notes);
    return this.afterReport(command, slot, end.status, notes);
  }

  private afterReport(
    command: Command,
    slot: Slot,
    status: number,
    notes: string[],
  ): ForegroundResult | Promise<ForegroundResult> {
    const { host } = this;
    const { text } = command.request;
    if (command.ending !== undefined) host.send(host.dialect.afterInterrupt());
    if (changesExit.test(text)) host.send(host.dialect.rearm());
    if (setsErrorTrap.test(text)) this.hasErrorTrap = true;
    this.lastStatus = this.isOurDoing(command, status) ? interruptedStatus : status;
    const ending = reportedEnd(command, this.lastStatus, host.cwd);
    ending.notes.push(...notes);
    return slot.drain() === 'closed' ? { end: ending, isClosed: true } : this.settled(ending, slot);
  }

  /** A shell that finds no FIFOs runs nothing, and bash tells of that as of a command that failed without a word. */
  private mayHaveFoundNothing({ output }: Command, slot: Slot, status: number): boolean {
    if (status === 0 && this.host.dialect.name === 'bash') return false;
    slot.drain();
    if (slot.wasSeenOpen || output.bytes.stdout + output.bytes.stderr > 0) return false;
    return this.restorations !== this.restorationsBefore || !existsSync(slot.stdoutPath);
  }

  /** Whether the command may not have been run, or none after it can be, because the shell cannot open its streams. */
  private mayOpenNothing(command: Command, slot: Slot, status: number): boolean {
    if (this.isShadowed || command.ending !== undefined) return false;
    return mayForbidOpening.test(command.request.text) || this.isSilentFailure(command, slot, status);
  }

  /** What bash also tells of a command that it did not run. */
  private isSilentFailure({ output }: Command, slot: Slot, status: number): boolean {
    if (status !== 1 || slot.wasSeenOpen) return false;
    slot.drain();
    return output.bytes.stdout + output.bytes.stderr === 0;
  }

  private async checkOpening(command: Command, slot: Slot, status: number, notes: string[]): Promise<ForegroundResult> {
    const { host } = this;
    if (await host.canOpen()) return this.afterReport(command, slot, status, notes);
    host.signal('SIGKILL');
    const exit = await host.exited;
    if (exit === undefined || host.isRetired) return undefined;
    const end = this.isSilentFailure(command, slot, status)
      ? unknownEnd(command, host.cwd, mayNotHaveRun)
      : reportedEnd(command, status, host.cwd);
    this.lastStatus = end.exitCode ?? 0;
    end.notes.unshift(...notes, opensNothing, ...(await this.replace(exit)));
    return this.settled(end, slot);
  }

  /** Whether a status tells of what stood in for an interrupt. */
  private isOurDoing(command: Command, status: number): boolean {
    if (command.isKilledForInterrupt && status === killedStatus) return true;
    return command.ending !== undefined && status === 128 + constants.signals[this.host.dialect.abandonSignal];
  }

  /** Waits for the end of a command that the shell has been given, and watches it meanwhile. */
  private untilEnd(command: Command, slot: Slot, lookMs: number): Promise<End> {
    this.current = command;
    const stopWatching = this.watch(command, slot, lookMs);
    return new Promise<End>((resolve) => {
      this.end = (end) => {
        stopWatching();
        this.current = undefined;
        resolve(end);
      };
    });
  }

  private line(command: Command, slot: Slot): string {
    const { host, files, hasErrorTrap } = this;
    const { number, request } = command;
    const before = { tracing: host.flags.includes('x'), hasErrorTrap };
    const line = host.dialect.foreground({
      number,
      run: this.inline(request.text) ?? this.source(request.text, before),
      files: files.streams(command, slot),
      lastStatus: this.lastStatus,
      announce: host.announced !== number,
      prepared: files.prepare(command, host.dialect),
      descriptors: descriptorsNamed(request.text),
      ...before,
    });
    if (!this.isShadowed) return line;
    // The line that is replaced also puts back what was lent to the command, and tells of the directory after that.
    const undo = request.overrides === undefined ? '' : putBack;
    return line.replace(/[^\n]*\n$/, () => this.plainReport(number, `__lmp_s=$?;${undo}`));
  }

  private inline(text: string): string | undefined {
    return this.mayInline ? this.host.dialect.inline(text) : undefined;
  }

  private source(text: string, before: { tracing: boolean; hasErrorTrap: boolean }): string {
    return `\\. ${this.files.writeForeground(this.host.dialect.commandText(text, before))}`;
  }

  private report(number: number): string {
    const { dialect } = this.host;
    return this.isShadowed ? this.plainReport(number, dialect.recall(number)) : dialect.report(number);
  }

  private plainReport(number: number, status: string): string {
    return plainReport(number, this.files.directory.file('ctl'), this.host.dialect, status);
  }

  /** A quick command is over before anything of this is worth its cost, even setting a timer for each. */
  private watch(command: Command, slot: Slot, lookMs: number): () => void {
    let stops: (() => void)[] = [];
    this.sentAt = performance.now();
    this.startToWatch = () => {
      command.output.log.goLive();
      stops = [followWhenOpened(slot), this.lookForLostReport(command, lookMs)];
    };
    this.scheduleWatching(watchAfterMs);
    return () => {
      this.startToWatch = undefined;
      for (const stop of stops) stop();
    };
  }

  private scheduleWatching(inMs: number): void {
    this.watchTimer ??= setTimeout(() => {
      this.watchTimer = undefined;
      if (this.startToWatch === undefined) return;
      const early = watchAfterMs - (performance.now() - this.sentAt);
      if (early > 0) this.scheduleWatching(early);
      else this.startToWatch();
    }, inMs);
  }

  /**
   * A user's function called like one of our words, or a trap that skips commands, can swallow a report. Then the shell waits
   * for its next line although this command has not been reported; that shows, and another kind of report is sent.
   */
  private lookForLostReport(command: Command, firstMs: number): () => void {
    let wasIdle = false;
    let wait = firstMs;
    let left = mostReports;
    let timer: NodeJS.Timeout;
    const look = () => {
      const isIdle = this.isShellIdle();
      if (isIdle && wasIdle) {
        this.isShadowed = true;
        // What keeps every report back, a trap that skips commands for one, keeps everything back; another shell may do better.
        if (--left < 0) this.host.signal('SIGKILL');
        else this.reportAgain(command);
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

  /**
   * Only between commands is the shell's standard input the one it is sent its lines through; and only if it reads that does
   * it wait for a line, and not for something that the wrapper itself has started.
   */
  private isShellIdle(): boolean {
    const { pid } = this.host;
    return pid !== undefined && standardInputOf(pid) === this.files.directory.file('in') && readsStandardInput(pid);
  }

  private async afterExit(command: Command, slot: Slot, exit: ShellExit): Promise<ForegroundResult> {
    this.lastStatus = exit.code ?? 0;
    slot.drain();
    const notes = await this.replace(exit);
    return this.settled(shellExitedEnd(command, exit, this.host.cwd, notes), slot);
  }

  private settled(end: Ending, slot: Slot): Promise<ForegroundResult> {
    return settled(end, slot, this.host, this.files);
  }

  /** Goes on in a fresh shell; answers with what is to be said about that. */
  private replace(exit: ShellExit): Promise<string[]> {
    return this.host.recover(exit).catch((error: unknown) => {
      if (!(error instanceof LimpetError)) throw error;
      return [`The shell ended, and no new one could be started yet: ${error.message}`];
    });
  }
}

function unprepared(why: string, command: Command): LimpetError {
  if (why === '1') return failure.cwdNotFound(command.request.overrides?.cwd ?? '');
  return failure.invalidParams('env names a variable that is read-only in this session.');
}
