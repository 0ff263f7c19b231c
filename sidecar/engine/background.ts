import type { LimpetError } from '../../protocol/errors';
import { reach } from '../checkpoints';
import type { Slot } from '../output/slot';
import { identify, isAlive, mayBeAlive, type ProcessIdentity, signalProcess } from '../processes/identity';
import { childrenOf } from '../processes/process-table';
import type { Command, Ending } from './command';
import { neverStarted, reportedEnd, unknownEnd } from './command-end';
import { backgroundFile, type SessionFiles } from './command-files';
import { holders } from './settling';
import type { ShellHost } from './shell-host';
import { closesSoon, followWhenOpened } from './slots';
import { notedRefusal, notedStatus } from './status-file';
import { unprepared } from './unprepared';

/** Output counts as complete when nobody can print any more; one that leaves a server behind is not waited for forever. */
const endGraceMs = 3000;
const reportGraceMs = 500;
/** For a subshell to say that it is there; that of a sidecar that is gone may still have to be read by the shell. */
const startGraceMs = 5000;
const lookMs = 500;
const mostRepeats = 2;

interface Running {
  command: Command;
  slot: Slot;
  hasReported: boolean;
  /** Why it was not run after all. */
  unpreparedBy?: string | undefined;
}

/** Runs commands beside the shell, each in a subshell that has inherited the shell's state. */
export class Background {
  private readonly running = new Map<number, Running>();

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
    private readonly onStarted: (command: Command) => void,
    private readonly onEnded: (command: Command, end: Ending | { error: LimpetError }, slot: Slot) => void,
    private readonly findSubshell: (slot: Slot) => ProcessIdentity | undefined,
  ) {}

  get count(): number {
    return this.running.size;
  }

  has(command: Command): boolean {
    return this.running.has(command.number);
  }

  /** The subshells of the commands that run. */
  get subshells(): ProcessIdentity[] {
    return [...this.running.values()].flatMap(({ command: { subshell } }) => subshell ?? []);
  }

  /** Starts a command and waits until its subshell is there; the shell is then free for the next. */
  async start(command: Command, slot: Slot): Promise<void> {
    this.running.set(command.number, { command, slot, hasReported: false });
    try {
      for (let more = mostRepeats; ; more--) {
        await this.give(command, slot);
        await this.untilStarted(command);
        if (more === 0 || !this.isUnread(command)) break;
      }
    } catch (error) {
      this.running.delete(command.number);
      throw error;
    }
    if (command.isFinished) return;
    this.lookAfter(command);
    const stopFollowing = followWhenOpened(slot);
    void command.finished.then(stopFollowing);
  }

  /** Not for ever: something of the user's may keep the subshell from being started, or from saying so. */
  private async untilStarted(command: Command): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let forget = () => {};
    await new Promise<void>((resolve) => {
      forget = this.host.onGone(resolve);
      timer = setTimeout(resolve, startGraceMs);
      void Promise.race([command.started, command.finished]).then(resolve);
    });
    forget();
    clearTimeout(timer);
  }

  /** A shell that ended before it read the command has started nothing, so the next one gets it. */
  private isUnread(command: Command): boolean {
    const { host } = this;
    if (command.isFinished || command.subshell !== undefined || host.isAlive) return false;
    return host.channel.takeBackLines().includes(backgroundFile(command.number));
  }

  /** Gives it to the shell, unless it was made to end while there was none. */
  private async give(command: Command, slot: Slot): Promise<void> {
    const { host, files } = this;
    await host.ensure();
    if (host.isRetired) return;
    if (command.ending !== undefined) return this.abandon(command, neverStarted);
    command.output.log.goLive();
    const text = files.writeBackground(command, this.text(command.request.text));
    const line = host.dialect.background({
      number: command.number,
      files: { text, ...files.streams(command, slot) },
      prepared: files.prepare(command, host.dialect),
      lastStatus: host.lastStatus,
    });
    host.send(line);
    reach('background-sent');
  }

  private text(text: string): string {
    const { dialect, flags } = this.host;
    return dialect.commandText(text, { flags, lastStatus: 0, isBackground: true });
  }

  /** Goes on with a command that another sidecar has started, unless nothing tells that it has. */
  resume(command: Command, slot: Slot, subshell: ProcessIdentity | undefined): 'resumed' | 'uncertain' {
    const noted = this.files.directory.file('status');
    const unpreparedBy = notedRefusal(noted, command.number);
    this.running.set(command.number, { command, slot, hasReported: false, unpreparedBy });
    const stopFollowing = followWhenOpened(slot);
    void command.finished.then(stopFollowing);
    const status = notedStatus(noted, command.number);
    command.subshell = subshell ?? this.findSubshell(slot);
    if (command.subshell !== undefined) {
      if (isAlive(command.subshell)) [command.runner] = childrenOf(command.subshell.pid);
      command.onStarted();
    }
    if (status !== undefined) void this.ended(command.number, status);
    else if (command.subshell === undefined) return 'uncertain';
    else this.lookAfter(command);
    return 'resumed';
  }

  /** The shell was never given it by the sidecar that is gone. */
  async giveAgain(command: Command, slot: Slot): Promise<void> {
    if (command.ending !== undefined) return this.abandon(command, neverStarted);
    this.running.delete(command.number);
    await this.start(command, slot);
  }

  started(number: number, subshell: number, runner: number): void {
    const entry = this.running.get(number);
    if (entry === undefined) return;
    entry.command.subshell = identify(subshell) ?? { pid: subshell, startTime: '' };
    entry.command.runner = runner;
    entry.command.onStarted();
    this.onStarted(entry.command);
  }

  /** Whether it is one of these that could not be given its own directory or environment. */
  unprepared(number: number, why: string): boolean {
    const entry = this.running.get(number);
    if (entry !== undefined) entry.unpreparedBy = why;
    return entry !== undefined;
  }

  /** It is over when it has reported and nobody prints any more, or soon after. */
  async ended(number: number, status: number): Promise<void> {
    const entry = this.running.get(number);
    if (entry === undefined) return;
    entry.hasReported = true;
    const end = reportedEnd(entry.command, status, this.host.cwd);
    if (!(await closesSoon(entry.slot, endGraceMs))) {
      const heldOpenBy = await holders(entry.slot, this.host, this.files);
      if (entry.slot.drain() === 'open') end.heldOpenBy = heldOpenBy;
    }
    this.finish(entry.command, end);
  }

  /** Everything was tried to end it. Its subshell is ours, so it is not left behind. */
  async giveUpOn(command: Command): Promise<void> {
    const status = notedStatus(this.files.directory.file('status'), command.number);
    if (status !== undefined) return this.ended(command.number, status);
    if (command.subshell !== undefined && !command.isFinished) signalProcess(command.subshell, 'SIGKILL');
    this.abandon(command, 'It would not end and may still be there.');
  }

  /** It did not report, and will not. */
  abandon(command: Command, note: string): void {
    this.finish(command, unknownEnd(command, this.host.cwd, note));
  }

  private finish(command: Command, end: Ending): void {
    const entry = this.running.get(command.number);
    if (entry === undefined || !this.running.delete(command.number)) return;
    entry.slot.drain();
    const { unpreparedBy, slot } = entry;
    this.onEnded(command, unpreparedBy === undefined ? end : { error: unprepared(unpreparedBy, command) }, slot);
  }

  private giveUp(command: Command, wasStarted: boolean): void {
    const entry = this.running.get(command.number);
    // One that reported before it ended is only waited for until its output is complete.
    if (entry?.hasReported !== false) return;
    const status = notedStatus(this.files.directory.file('status'), command.number);
    command.subshell ??= this.findSubshell(entry.slot);
    if (!wasStarted && command.subshell !== undefined) {
      command.onStarted();
      this.lookAfter(command);
    } else if (status !== undefined) void this.ended(command.number, status);
    else this.abandon(command, wasStarted ? endedFromOutside : perhapsNeverStarted);
  }

  /** The subshell reports how its command ended, unless it is itself killed. */
  lookAfter(command: Command): void {
    const timer = setInterval(() => {
      if (command.isFinished) return clearInterval(timer);
      const { subshell } = command;
      if (subshell !== undefined && mayBeAlive(subshell)) return;
      clearInterval(timer);
      const isSure = subshell !== undefined;
      setTimeout(() => this.giveUp(command, isSure), isSure ? reportGraceMs : startGraceMs).unref();
    }, lookMs);
    timer.unref();
  }
}

const endedFromOutside = 'It was ended from outside, so its exit code is unknown.';
const perhapsNeverStarted = 'Its start was not reported, so it is not known whether it ran.';
