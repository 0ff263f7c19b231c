import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { failure, LimpetError } from '../../protocol/errors';
import { reach } from '../checkpoints';
import type { Slot } from '../output/slot';
import { inlined } from '../shells/dialect';
import { describeTrouble } from '../system-failure';
import type { Command, Ending } from './command';
import { neverStarted, reportedEnd, shellExitedEnd, unknownEnd } from './command-end';
import { commandFile, type SessionFiles } from './command-files';
import { CommandLines } from './command-lines';
import { changesExit, mayEndShell, mayForbidOpening } from './command-words';
import { isDirectory } from './recovery';
import { ReportWatch } from './report-watch';
import { type Settled, settled } from './settling';
import type { ShellHost } from './shell-host';
import type { ShellExit } from './shell-process';
import { ShellQuestions } from './shell-questions';
import { unprepared } from './unprepared';

const firstLookMs = 20;
/** A shell that has been asked a question looks idle until it is its turn to run. */
const firstLookAtAdoptedMs = 1000;
const mostRepeats = 2;
const interruptedStatus = 128 + constants.signals.SIGINT;
const killedStatus = 128 + constants.signals.SIGKILL;

const foundNothing = "The session's directory was removed while this was to be run, so it is not known whether it ran.";

const opensNothing =
  'The shell could not open files any more, as after "set -r" or a low "ulimit -n", so it could run no command and was replaced.';
const mayNotHaveRun = 'It is not known whether this command was run before that.';
const statusIsUnknown = 'What it told of this command may be about that, so the exit code is unknown.';

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
  private past: Command | undefined;
  readonly lines: CommandLines;
  readonly questions: ShellQuestions;
  /** How often the session's directory was removed and made again; what was given before may have found none. */
  restorations = 0;
  private restorationsBefore = 0;
  private unpreparedBy: { number: number; why: string } | undefined;
  private end: (end: End) => void = () => {};
  private readonly watch: ReportWatch;

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
    /** The shell has something to do, so there is time for something else. */
    private readonly onSent: () => void,
    private readonly onBug: (thrown: unknown) => void,
  ) {
    this.lines = new CommandLines(host, files);
    this.questions = new ShellQuestions(host);
    this.watch = new ReportWatch(host, (command) => {
      this.lines.noteShadow();
      this.reportAgain(command);
    });
  }

  /** Runs a command to its end. Nothing if the session was destroyed meanwhile. */
  async run(command: Command, slot: Slot): Promise<ForegroundResult> {
    const notes: string[] = [];
    this.prepared = command;
    if (mayEndShell.test(command.request.text) || this.host.flags.includes('e')) await this.host.snapshot();
    this.lines.note(command.request.text);
    if (!this.host.isAlive) notes.push(...(await this.host.ensure()));
    if (this.host.isRetired) return undefined;
    if (command.ending !== undefined) return this.neverGiven(command, slot);
    let line = this.lines.line(command, slot);
    let end = await this.give(line, command, slot);
    // A shell that ended before it read the command has run nothing, so the next one gets it.
    for (let more = mostRepeats; more > 0 && this.isUnread(end, line); more--) {
      this.host.neverGave(command.number);
      notes.push(...(await this.host.ensure()));
      if (this.host.isRetired) return undefined;
      if (command.ending !== undefined) return this.neverGiven(command, slot);
      line = this.lines.line(command, slot);
      end = await this.give(line, command, slot);
    }
    return this.conclude(command, slot, end, notes);
  }

  private isUnread(end: End, lines: string): boolean {
    return (
      end.kind === 'never-read' || (end.kind === 'exited' && wasNeverRead(lines, this.host.channel.takeBackLines()))
    );
  }

  /**
   * Goes on with a command that a sidecar that is gone gave to the shell, or was about to. The shell is asked what it last
   * reported: its answer comes after everything it was sent before, so one that knows nothing of the command has not run it.
   */
  async resume(command: Command, slot: Slot): Promise<ForegroundResult> {
    const { isShadowed } = this.lines.known;
    this.lines.note(command.request.text);
    const ended = this.untilEnd(command, slot, firstLookAtAdoptedMs);
    this.host.channel.drainRecords();
    this.questions.ask(({ number, status, cwd }) => {
      if (number < command.number) this.end({ kind: 'never-read' });
      else this.reported(number, status, cwd);
    });
    // A shell that is already gone has been announced as gone before anybody listened.
    void this.host.exited.then((exit) => {
      if (this.current === command && exit !== undefined) this.end({ kind: 'exited', exit });
    });
    const end = await ended;
    this.questions.close();
    const isUnread = () => {
      const lines = this.host.channel.takeBackLines();
      return lines.includes(commandFile) || lines.includes(inlined) || this.host.endedBefore(command.number);
    };
    if (end.kind === 'exited' && isUnread()) {
      this.host.neverGave(command.number);
      return this.run(command, slot);
    }
    const isKnown =
      end.kind !== 'never-read' && (end.kind !== 'reported' || this.lines.known.isShadowed === isShadowed);
    if (isKnown) return this.conclude(command, slot, end, []);
    if (end.kind === 'never-read' && command.ending === undefined) return this.run(command, slot);
    return this.settled(unknownEnd(command, this.host.cwd, 'Its end was not seen, so its exit code is unknown.'), slot);
  }

  reported(number: number, status: number, cwd: string): void {
    if (number === this.current?.number) this.end({ kind: 'reported', status, cwd });
  }

  /** The shell dropped the line that would have run the command, so it is given it again. */
  notRun(number: number): void {
    if (number === this.current?.number) this.end({ kind: 'never-read' });
  }

  unprepared(number: number, why: string): void {
    this.unpreparedBy = { number, why };
  }

  exited(exit: ShellExit): void {
    if (this.current !== undefined) this.end({ kind: 'exited', exit });
  }

  destroyed(): void {
    this.end({ kind: 'destroyed' });
  }

  /** Whether the shell was given it, so that it may have run. */
  wasGiven({ number }: Command): boolean {
    return number === this.host.lastNumber;
  }

  /** Whether the shell is still being made ready for it. */
  isPreparing(command: Command): boolean {
    return this.prepared === command;
  }

  /** Whether the shell has come to its end, or to the shell's own: what is left to be done is not done by the shell. */
  isPast(command: Command): boolean {
    return this.past === command || command.isFinished;
  }

  /** Takes note of what the shell may have reported just now. */
  catchUp(): void {
    this.host.channel.drainRecords();
  }

  /** Sends the reporting line once more: a signal may have swallowed the first. */
  reportAgain(command: Command): void {
    if (this.current === command) this.host.channel.send(this.lines.report(command.number));
  }

  /** Gives the command to the shell. */
  private give(line: string, command: Command, slot: Slot): Promise<End> {
    this.prepared = undefined;
    this.restorationsBefore = this.restorations;
    this.host.send(line);
    this.host.lastNumber = command.number;
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
    if (end.kind === 'never-read') return this.settled(unknownEnd(command, host.cwd, neverStarted), slot);
    if (end.kind !== 'reported') return undefined;
    const before = host.cwd;
    host.cwd = end.cwd === '' ? host.cwd : end.cwd;
    const isLent = command.request.overrides?.cwd !== undefined;
    if (isLent && host.cwd !== before && !isDirectory(before)) notes.push(isGone(before));
    const refused = this.unpreparedBy;
    if (refused?.number === command.number) return { error: unprepared(refused.why, command) };
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
    this.host.lastStatus = this.isOurDoing(command, status) ? interruptedStatus : status;
    const ending = reportedEnd(command, this.host.lastStatus, host.cwd);
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
    if (command.ending !== undefined) return false;
    // It would be asked, and could not answer.
    if (this.lines.known.isShadowed && this.host.dialect.fewestDescriptors === 0) return false;
    if (mayForbidOpening.test(command.request.text) || this.isDoubtful(status)) return true;
    return this.isSilentFailure(command, slot, status);
  }

  private isDoubtful(status: number): boolean {
    return this.host.dialect.statusesWithoutDescriptors.includes(status);
  }

  /** What bash also tells of a command that it did not run. */
  private isSilentFailure({ output }: Command, slot: Slot, status: number): boolean {
    if ((status !== 1 && !this.isDoubtful(status)) || slot.wasSeenOpen) return false;
    slot.drain();
    return output.bytes.stdout + output.bytes.stderr === 0;
  }

  private async checkOpening(command: Command, slot: Slot, status: number, notes: string[]): Promise<ForegroundResult> {
    const { host } = this;
    if (await host.canOpen()) return this.afterReport(command, slot, status, notes);
    host.signal('SIGKILL');
    const exit = await host.exited;
    if (exit === undefined || host.isRetired) return undefined;
    const isSilent = this.isSilentFailure(command, slot, status);
    const end =
      isSilent || this.isDoubtful(status)
        ? unknownEnd(command, host.cwd, isSilent ? mayNotHaveRun : statusIsUnknown)
        : reportedEnd(command, status, host.cwd);
    this.host.lastStatus = end.exitCode ?? 0;
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
    this.past = undefined;
    const stopWatching = this.watch.begin(command, slot, lookMs);
    return new Promise<End>((resolve) => {
      this.end = (end) => {
        stopWatching();
        this.current = undefined;
        this.past = command;
        resolve(end);
      };
    });
  }

  private async afterExit(command: Command, slot: Slot, exit: ShellExit): Promise<ForegroundResult> {
    this.host.lastStatus = statusOf(exit);
    slot.drain();
    const notes = await this.replace(exit);
    return this.settled(shellExitedEnd(command, exit, this.host.cwd, notes), slot);
  }

  private settled(end: Ending, slot: Slot): Promise<ForegroundResult> {
    return settled(end, slot, this.host, this.files);
  }

  /** Goes on in a fresh shell; answers with what is to be said about that. The command has run, whatever comes of it. */
  private replace(exit: ShellExit): Promise<string[]> {
    return this.host
      .recover(exit)
      .catch((error: unknown) => [`The shell ended, and no new one could be started yet: ${this.explain(error)}`]);
  }

  private explain(error: unknown): string {
    const why = error instanceof LimpetError ? error.message : describeTrouble(error);
    if (why === undefined) this.onBug(error);
    return why ?? failure.internal().message;
  }
}

/** `$?` as a shell would tell it of a program that ended so. */
const statusOf = ({ code, signal }: ShellExit) =>
  code ?? (signal === null ? 0 : 128 + (constants.signals[signal as NodeJS.Signals] ?? 0));

/** A shell that is killed while it waits for a line may still take the first bytes of it; it runs nothing before the line's end. */
const wasNeverRead = (lines: string, takenBack: string) =>
  takenBack.endsWith(lines) || (lines.endsWith(takenBack) && takenBack.length >= lines.length - lines.indexOf('\n'));
