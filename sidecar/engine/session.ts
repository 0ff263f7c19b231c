import { closeSync, ftruncateSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { Mutex } from 'async-mutex';
import { failure, LimpetError } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';
import type { Activity, SessionInfo, SessionState, SignalName } from '../../protocol/values';
import { CommandOutput } from '../output/command-output';
import type { LogStore } from '../output/log-store';
import type { Slot } from '../output/slot';
import { SlotPool } from '../output/slot-pool';
import { activityOf, readsFrom } from '../processes/activity';
import { holdersOf, processesOfCommand, processesOfSession } from '../processes/command-processes';
import { identify, isAlive, type ProcessIdentity, signalProcess } from '../processes/identity';
import { killAll } from '../processes/kill-ladder';
import { openFiles } from '../processes/process-table';
import { inDirectory, type Profile } from '../shells/dialect';
import type { Shell } from '../shells/find-shells';
import { Channel, type Record4 } from './channel';
import { Command, type CommandRequest } from './command';
import { reportedEnd, shellExitedEnd, unknownEnd } from './command-end';
import { endCommand, tracesOf } from './interruption';
import { Publication } from './publication';
import { restart } from './recovery';
import type { SessionDirectory } from './session-directory';
import { transition } from './session-state';
import { type ShellExit, ShellProcess } from './shell-process';
import { Snapshots } from './snapshots';
import { StandardInput } from './standard-input';

const followAfterMs = 1;
const followRetryMs = 50;
const snapshotAfterMs = 100;
const snapshotDeadlineMs = 2000;
/** What a command left behind often ends in the same moment (a `tee` it wrote to); its output is then still waited for. */
const holderGraceMs = 8;
const backgroundGraceMs = 250;
const watchBackgroundMs = 500;

export interface SessionOptions {
  id: string;
  name: string;
  shell: Shell;
  profile: Profile;
  cwd: string;
  /** The whole environment of the shell. */
  env: Record<string, string>;
  envKeys: string[];
  defaultTimeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
  directory: SessionDirectory;
  logs: LogStore;
  limits: Limits;
  onChange: (session: Session, command?: Command) => void;
  onIdleTimeout: (session: Session) => void;
}

type ForegroundEnd =
  | { kind: 'reported'; status: number; cwd: string }
  | { kind: 'exited'; exit: ShellExit }
  | { kind: 'destroyed' };

/** A shell and its commands, one after the other. */
export class Session {
  name: string;
  readonly createdAt = new Date();
  lastActiveAt = new Date();
  restarts = 0;
  readonly notes: string[] = [];
  readonly commands = new Map<string, Command>();
  state: SessionState = 'creating';
  cwd: string;
  private shell: ShellProcess | undefined;
  private readonly mutex = new Mutex();
  private readonly channel: Channel;
  private readonly slots: SlotPool;
  private readonly snapshots: Snapshots;
  private readonly publication: Publication;
  private readonly textFile: number;
  private textLength = 0;
  private running: Command | undefined;
  private endForeground: (end: ForegroundEnd) => void = () => {};
  private unprepared: string | undefined;
  private onSnapshot: () => void = () => {};
  private nextNumber = 1;
  /** The command number the shell exports now. */
  private announced = 1;
  private lastStatus = 0;
  private tracing = false;
  private queued = 0;
  private profile: Profile;
  private readonly inputs = new Map<Command, StandardInput>();
  private readonly background = new Set<Command>();
  private snapshotTimer: NodeJS.Timeout | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  private destroying: Promise<void> | undefined;

  private constructor(private readonly options: SessionOptions) {
    this.name = options.name;
    this.cwd = options.cwd;
    this.profile = options.profile;
    const { directory } = options;
    this.channel = new Channel(directory.file('in'), directory.file('ctl'), (record) => this.onRecord(record));
    this.slots = new SlotPool(directory.path, directory.readySlots, () => directory.addSlot());
    this.snapshots = new Snapshots(directory);
    this.publication = new Publication(options.logs);
    this.textFile = openSync(directory.file('c'), 'w', 0o600);
    options.logs.makeDirectory(options.id);
  }

  static async create(options: SessionOptions): Promise<Session> {
    const session = new Session(options);
    try {
      await session.startFirstShell();
      session.enter('idle');
      session.restartIdleTimer();
      return session;
    } catch (error) {
      await session.destroy();
      throw error;
    }
  }

  get id(): string {
    return this.options.id;
  }

  get isTerminated(): boolean {
    return this.state === 'terminated';
  }

  get runningCommand(): Command | undefined {
    return this.running;
  }

  info(): SessionInfo {
    const { running } = this;
    return {
      sessionId: this.id,
      name: this.name,
      shell: this.options.shell.dialect.name,
      shellPath: this.options.shell.path,
      pid: this.shell?.isAlive ? (this.shell.pid ?? null) : null,
      state: this.state,
      cwd: this.cwd,
      createdAt: this.createdAt.toISOString(),
      lastActiveAt: this.lastActiveAt.toISOString(),
      restarts: this.restarts,
      ...(running === undefined
        ? {}
        : {
            runningCommand: {
              commandId: running.id,
              command: running.request.text,
              startedAt: running.startedAt.toISOString(),
            },
          }),
      queued: this.queued,
      backgroundCount: this.background.size,
      envKeys: this.options.envKeys,
      notes: this.notes,
    };
  }

  rename(name: string): void {
    this.name = name;
    this.changed();
  }

  /** Takes a command; it runs when its turn comes. */
  submit(request: CommandRequest, onBusy: 'queue' | 'reject'): Command {
    if (this.isTerminated) throw failure.sessionTerminated(this.id);
    if (onBusy === 'reject' && (this.running !== undefined || this.queued > 0)) {
      throw failure.sessionBusy(this.id, this.running?.id);
    }
    const { limits, logs } = this.options;
    if (this.queued >= limits.maxQueuedCommands) {
      throw failure.overloaded(
        `${this.queued} commands already wait in session ${this.id}. Wait for some of them first.`,
      );
    }
    if (request.background && this.background.size >= limits.maxBackgroundCommands) {
      throw failure.overloaded(`${this.background.size} commands already run in the background of session ${this.id}.`);
    }
    const number = this.nextNumber++;
    const output = new CommandOutput(logs.create(this.id, number), request.maxOutputBytes);
    const command = new Command(this.id, number, request, output);
    this.commands.set(command.id, command);
    if (request.stdin.kind === 'open') this.inputs.set(command, new StandardInput());
    this.queued++;
    this.lastActiveAt = new Date();
    void this.mutex.runExclusive(() => this.perform(command));
    return command;
  }

  input(command: Command): StandardInput | undefined {
    return this.inputs.get(command);
  }

  endInput(command: Command): void {
    const input = this.inputs.get(command);
    input?.end((path) => this.hasOpened(path));
  }

  /** Ends a command. Resolves when it is gone, or when everything was tried. */
  async interrupt(command: Command, why: 'cancelled' | 'timed_out', signal?: SignalName): Promise<void> {
    if (command.state === 'queued') {
      this.queued--;
      this.finish(command, {
        outcome: why,
        exitCode: null,
        signal: null,
        cwd: this.cwd,
        notes: ['It was never started.'],
      });
      return;
    }
    if (command.isFinished || this.shell === undefined) return;
    command.ending ??= why;
    const { shell } = this;
    const reportAgain = () => this.channel.send(this.options.shell.dialect.report(command.number));
    await endCommand(command, signal, { shell, reportAgain });
    if (!command.isFinished && command.request.background) {
      this.finishBackground(command, unknownEnd(command, this.cwd, 'It ignores even SIGKILL and may still be there.'));
    }
  }

  /** Sends a signal that does not end a command. */
  signal(command: Command, signal: SignalName): void {
    for (const identity of this.processes(command)) signalProcess(identity, signal);
  }

  /** What a running command is doing, by what the kernel says of its processes. */
  activity(command: Command): Activity {
    const pids = this.processes(command).map(({ pid }) => pid);
    return activityOf({ pids, stdin: this.inputs.get(command)?.fifo });
  }

  waitsForInput(command: Command): boolean {
    const fifo = this.inputs.get(command)?.fifo;
    return fifo !== undefined && this.withShell(command).some(({ pid }) => readsFrom(pid, fifo));
  }

  /** Kills everything the session started, and forgets it. */
  destroy(): Promise<void> {
    this.destroying ??= this.tearDown();
    return this.destroying;
  }

  private processes(command: Command): ProcessIdentity[] {
    const root = command.request.background ? command.pid : this.shell?.pid;
    return root === undefined ? [] : processesOfCommand(tracesOf(command, root));
  }

  /** With the shell, which itself reads a foreground command's input when the command is a builtin. */
  private withShell(command: Command): ProcessIdentity[] {
    const shell = this.shell?.identity;
    return shell === undefined ? this.processes(command) : [...this.processes(command), shell];
  }

  private async tearDown(): Promise<void> {
    const { directory, logs } = this.options;
    if (!this.isTerminated) this.enter('terminated');
    clearTimeout(this.snapshotTimer);
    clearTimeout(this.idleTimer);
    const shellPid = this.shell?.pid;
    await killAll(() => processesOfSession(this.id, directory.path, this.shell?.isAlive ? shellPid : undefined));
    await this.shell?.exited;
    for (const command of this.commands.values()) {
      if (command.isFinished) continue;
      command.slot?.drain();
      const note = 'The session was destroyed while the command ran.';
      command.ending ??= 'cancelled';
      this.finish(command, {
        outcome: command.ending,
        exitCode: null,
        signal: 'SIGKILL',
        cwd: this.cwd,
        notes: [note],
      });
    }
    this.endForeground({ kind: 'destroyed' });
    this.channel.dispose();
    this.slots.dispose();
    for (const input of this.inputs.values()) input.dispose();
    this.inputs.clear();
    this.publication.flush();
    closeSync(this.textFile);
    directory.remove();
    logs.leave(this.id);
  }

  private async startFirstShell(): Promise<void> {
    const start = () => this.startShell(undefined);
    if (this.profile === 'clean') return start();
    try {
      await start();
    } catch (error) {
      if (!(error instanceof LimpetError) || this.isTerminated) throw error;
      this.profile = 'clean';
      this.notes.push(`The shell was started without your rc files, because with them it failed. ${error.message}`);
      await this.shell?.exited;
      this.channel.discardLines();
      await start();
    }
  }

  private async startShell(restoreFile: string | undefined): Promise<void> {
    const ready = await ShellProcess.start({ ...this.shellStart(), cwd: this.cwd, restoreFile }, (shell) =>
      this.adopt(shell),
    );
    if (ready.cwd !== '') this.cwd = ready.cwd;
  }

  private shellStart() {
    const { shell, id, directory, env } = this.options;
    const nextNumber = this.announced;
    return { shell, profile: this.profile, sessionId: id, directory, channel: this.channel, env, nextNumber };
  }

  private adopt(shell: ShellProcess): void {
    this.shell = shell;
    void shell.exited.then((exit) => {
      if (this.shell !== shell) return;
      // What the shell said before it ended counts.
      this.channel.drainRecords();
      if (this.running !== undefined) this.endForeground({ kind: 'exited', exit });
    });
  }

  /** Makes sure that there is a shell; it may have ended while nothing ran. */
  private async ensureShell(): Promise<string[]> {
    const { shell } = this;
    if (shell?.exit === undefined) return [];
    return this.recover(shell.exit);
  }

  private async recover(exit: ShellExit): Promise<string[]> {
    this.restarts++;
    this.announced = this.nextNumber;
    const { ready, notes } = await restart(
      {
        ...this.shellStart(),
        candidates: this.snapshots.candidates,
        directories: [this.cwd, this.options.cwd],
        exit,
        isCurrent: this.snapshots.upTo === this.lastStarted,
      },
      (shell) => this.adopt(shell),
    );
    this.tracing = false;
    this.cwd = ready.cwd === '' ? this.cwd : ready.cwd;
    this.notes.splice(0, this.notes.length, ...notes);
    return notes;
  }

  private lastStarted = 0;

  private async perform(command: Command): Promise<void> {
    if (command.isFinished || this.isTerminated) return;
    this.queued--;
    try {
      const notes = await this.ensureShell();
      if (this.isTerminated) return;
      const taken = this.slots.take();
      const slot = taken instanceof Promise ? await taken : taken;
      command.slot = slot;
      command.begin();
      this.lastStarted = command.number;
      slot.bind(command.output);
      if (command.request.background) await this.performBackground(command, slot);
      else await this.performForeground(command, slot, notes);
    } catch (error) {
      this.afterFailure(command, error);
    }
  }

  private afterFailure(command: Command, error: unknown): void {
    if (this.isTerminated) return;
    if (this.running === command) this.running = undefined;
    if (this.state === 'running') this.enter('idle');
    if (command.slot !== undefined) this.freeSlot(command, command.slot);
    command.fail(error instanceof LimpetError ? error : failure.internal());
    this.settle(command);
  }

  private async performForeground(command: Command, slot: Slot, notes: string[]): Promise<void> {
    const { request, number } = command;
    const { dialect } = this.options.shell;
    this.running = command;
    this.enter('running', command);
    const ended = new Promise<ForegroundEnd>((resolve) => {
      this.endForeground = resolve;
    });
    this.writeText(dialect.commandText(request.text, this.tracing));
    const line = dialect.foreground({
      number,
      files: {
        text: inDirectory('c'),
        stdin: this.stdinWord(command, slot),
        stdout: inDirectory(`o${slot.number}`),
        stderr: inDirectory(`e${slot.number}`),
      },
      lastStatus: this.lastStatus,
      announce: this.announced !== number,
      prepared: this.prepare(command),
    });
    this.unprepared = undefined;
    if (!this.channel.send(line)) throw failure.overloaded('The shell does not read its input. Destroy the session.');
    this.announced = number + 1;
    // The shell is at work now, so this is the moment for what can wait.
    this.publication.flushIfDue();
    const follower = setTimeout(() => this.follow(command, slot), followAfterMs);
    const timer = this.startTimer(command);
    const end = await ended;
    clearTimeout(follower);
    clearTimeout(timer);
    if (end.kind === 'destroyed') return;
    if (end.kind === 'exited') await this.afterShellExit(command, slot, end.exit);
    else await this.afterReport(command, slot, end.status, end.cwd, notes);
    this.running = undefined;
    if (this.isTerminated) return;
    this.enter('idle', command);
    this.restartIdleTimer();
    this.scheduleSnapshot();
  }

  private async afterReport(command: Command, slot: Slot, status: number, cwd: string, notes: string[]): Promise<void> {
    this.cwd = cwd === '' ? this.cwd : cwd;
    if (this.unprepared !== undefined) {
      const error =
        this.unprepared === '1'
          ? failure.cwdNotFound(command.request.overrides?.cwd ?? '')
          : failure.invalidParams('env names a variable that is read-only in this session.');
      slot.drain();
      this.freeSlot(command, slot);
      command.fail(error);
      this.settle(command);
      return;
    }
    this.lastStatus = status;
    const end = reportedEnd(command, status, this.cwd);
    end.notes.push(...notes);
    if (slot.drain() === 'closed') {
      this.finish(command, end);
      slot.free();
      this.slotEnded(command, slot);
      return;
    }
    if (!(await closes(slot, holderGraceMs))) end.heldOpenBy = holdersOf(slot.paths, this.shell?.pid);
    this.finish(command, end);
    slot.linger(() => this.slotEnded(command, slot));
  }

  private async afterShellExit(command: Command, slot: Slot, exit: ShellExit): Promise<void> {
    this.lastStatus = exit.code ?? 0;
    slot.drain();
    const notes = await this.recover(exit).catch((error: unknown) => [
      `The shell ended and no new one could be started yet: ${error instanceof LimpetError ? error.message : 'unknown'}`,
    ]);
    if (this.isTerminated) return;
    const end = shellExitedEnd(command, exit, this.cwd, notes);
    if (!(await closes(slot, holderGraceMs))) end.heldOpenBy = holdersOf(slot.paths, this.shell?.pid);
    this.finish(command, end);
    slot.linger(() => this.slotEnded(command, slot));
  }

  private async performBackground(command: Command, slot: Slot): Promise<void> {
    const { request, number } = command;
    const { dialect } = this.options.shell;
    const name = `c.${number}`;
    this.options.directory.write(name, dialect.commandText(request.text, false));
    const line = dialect.background({
      number,
      files: {
        text: inDirectory(name),
        stdin: this.stdinWord(command, slot),
        stdout: inDirectory(`o${slot.number}`),
        stderr: inDirectory(`e${slot.number}`),
      },
      prepared: this.prepare(command),
    });
    this.background.add(command);
    this.channel.send(line);
    this.changed(command);
    const ended = this.shell?.exited.then(() => {});
    await Promise.race([command.started, command.finished, ended]);
    command.onStarted();
    if (command.isFinished || this.isTerminated) return;
    this.follow(command, slot);
    this.watchBackground(command);
    const timer = this.startTimer(command);
    void command.finished.then(() => clearTimeout(timer));
  }

  /** A background command is over when it reported and nobody prints any more, or soon after. */
  private async afterBackgroundReport(command: Command, status: number): Promise<void> {
    const { slot } = command;
    if (slot === undefined || command.isFinished) return;
    const end = reportedEnd(command, status, this.cwd);
    if (!(await closes(slot, backgroundGraceMs))) end.heldOpenBy = holdersOf(slot.paths, undefined);
    this.finishBackground(command, end);
  }

  private finishBackground(command: Command, end: Parameters<Command['finish']>[0]): void {
    if (command.isFinished) return;
    command.slot?.drain();
    this.background.delete(command);
    this.finish(command, end);
    for (const name of [`c.${command.number}`, `p.${command.number}`]) {
      rmSync(this.options.directory.file(name), { force: true });
    }
    const { slot } = command;
    slot?.linger(() => this.slotEnded(command, slot));
  }

  /** The subshell of a background command reports its end, unless it was itself killed. */
  private watchBackground(command: Command): void {
    const subshell = command.pid === undefined ? undefined : identify(command.pid);
    const check = () => {
      if (command.isFinished || this.isTerminated) return clearInterval(timer);
      if (subshell !== undefined && isAlive(subshell)) return;
      this.channel.drainRecords();
      clearInterval(timer);
      setTimeout(() => {
        this.finishBackground(
          command,
          unknownEnd(command, this.cwd, 'It was ended from outside, so its exit code is unknown.'),
        );
      }, backgroundGraceMs * 2).unref();
    };
    const timer = setInterval(check, watchBackgroundMs);
    timer.unref();
  }

  private onRecord([kind, number, value, cwd]: Record4): void {
    if (kind === 'D') {
      if (Number(number) !== this.running?.number) return;
      const [status = '', flags = ''] = value.split(' ');
      this.tracing = flags.includes('x');
      this.endForeground({ kind: 'reported', status: Number(status), cwd });
    } else if (kind === 'F') {
      this.unprepared = value;
    } else if (kind === 'B') {
      this.shell?.reportReady({ restored: number, cwd });
    } else if (kind === 'T') {
      this.snapshots.complete(this.lastStarted);
      this.onSnapshot();
    } else if (kind === 'P' || kind === 'E') {
      const command = this.commands.get(`${this.id}:${number}`);
      if (command === undefined) return;
      if (kind === 'E') void this.afterBackgroundReport(command, Number(value));
      else {
        command.pid = Number(value);
        command.onStarted();
        this.changed(command);
      }
    }
  }

  /** Passes on what a command prints while it runs; a quick one is over before this is worth its cost. */
  private follow(command: Command, slot: Slot, waitMs = followAfterMs): void {
    if (command.isFinished || command.slot !== slot || this.isTerminated) return;
    if (!slot.follow()) {
      setTimeout(() => this.follow(command, slot, Math.min(waitMs * 2, followRetryMs)), waitMs).unref();
    }
  }

  private finish(command: Command, end: Parameters<Command['finish']>[0]): void {
    command.finish(end);
    this.settle(command);
  }

  private settle(command: Command): void {
    this.lastActiveAt = new Date();
    this.inputs.get(command)?.dispose();
    this.inputs.delete(command);
    this.publication.add(command);
    this.forgetOldCommands();
    this.changed(command);
  }

  private freeSlot(command: Command, slot: Slot): void {
    slot.linger(() => this.slotEnded(command, slot));
  }

  private slotEnded(command: Command, slot: Slot): void {
    command.slot = undefined;
    this.publication.ended(command);
    if (!this.isTerminated) this.slots.giveBack(slot);
  }

  private forgetOldCommands(): void {
    const { limits, logs } = this.options;
    for (const command of this.commands.values()) {
      if (this.commands.size <= limits.maxRememberedCommands) return;
      if (!command.isFinished || !command.output.ended) continue;
      this.commands.delete(command.id);
      this.publication.drop(command);
      logs.forget(command.output.log);
    }
  }

  private startTimer(command: Command): NodeJS.Timeout | undefined {
    const ms = command.request.timeoutMs ?? this.options.defaultTimeoutMs;
    if (ms === undefined) return undefined;
    return setTimeout(() => void this.interrupt(command, 'timed_out'), ms);
  }

  private writeText(text: string): void {
    const length = writeSync(this.textFile, text, 0);
    if (length < this.textLength) ftruncateSync(this.textFile, length);
    this.textLength = length;
  }

  private prepare(command: Command): string | undefined {
    const { overrides } = command.request;
    if (overrides === undefined) return undefined;
    const name = `p.${command.number}`;
    this.options.directory.write(name, this.options.shell.dialect.preparation(overrides));
    void command.finished.then(() => rmSync(this.options.directory.file(name), { force: true }));
    return inDirectory(name);
  }

  private stdinWord(command: Command, slot: Slot): string {
    const { stdin } = command.request;
    if (stdin.kind === 'none') return '/dev/null';
    if (stdin.kind === 'open') {
      const fifo = `i${slot.number}`;
      this.inputs.get(command)?.open(this.options.directory.file(fifo));
      return inDirectory(fifo);
    }
    const name = `stdin.${command.number}`;
    const path = this.options.directory.file(name);
    writeFileSync(path, stdin.text, { mode: 0o600 });
    void command.finished.then(() => rmSync(path, { force: true }));
    return inDirectory(name);
  }

  private hasOpened(path: string): boolean {
    return processesOfSession(this.id, this.options.directory.path, this.shell?.pid).some(({ pid }) =>
      openFiles(pid).includes(path),
    );
  }

  private scheduleSnapshot(): void {
    if (this.snapshotTimer !== undefined) {
      this.snapshotTimer.refresh();
      return;
    }
    this.snapshotTimer = setTimeout(() => void this.takeSnapshot(), snapshotAfterMs);
    this.snapshotTimer.unref();
  }

  private async takeSnapshot(): Promise<void> {
    this.publication.flush();
    if (this.mutex.isLocked() || this.isTerminated || this.shell?.isAlive !== true) return;
    await this.mutex.runExclusive(async () => {
      let timer: NodeJS.Timeout | undefined;
      const done = new Promise<void>((resolve) => {
        this.onSnapshot = resolve;
        timer = setTimeout(resolve, snapshotDeadlineMs);
      });
      this.channel.send(this.options.shell.dialect.snapshot());
      await Promise.race([done, this.shell?.exited]);
      clearTimeout(timer);
    });
  }

  private restartIdleTimer(): void {
    const { idleTimeoutMs } = this.options;
    if (idleTimeoutMs === undefined) return;
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => {
      if (this.running !== undefined || this.queued > 0 || this.background.size > 0) this.restartIdleTimer();
      else this.options.onIdleTimeout(this);
    }, idleTimeoutMs);
    this.idleTimer.unref();
  }

  private enter(state: SessionState, command?: Command): void {
    this.state = transition(this.state, state);
    this.changed(command);
  }

  private changed(command?: Command): void {
    this.options.onChange(this, command);
  }
}

/** Whether a slot closes within a moment, reading what comes meanwhile. */
async function closes(slot: Slot, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let wait = 1; ; wait = Math.min(wait * 2, 20)) {
    if (slot.drain() === 'closed') return true;
    if (performance.now() >= deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
