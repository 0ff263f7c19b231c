import { Mutex } from 'async-mutex';
import { failure, LimpetError } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';
import type { Activity, SessionInfo, SessionState, SignalName } from '../../protocol/values';
import { CommandOutput } from '../output/command-output';
import type { LogStore } from '../output/log-store';
import type { Slot } from '../output/slot';
import { SlotPool } from '../output/slot-pool';
import { activityOf, readsFrom } from '../processes/activity';
import { processesOfCommand, processesOfSession } from '../processes/command-processes';
import { type ProcessIdentity, signalProcess } from '../processes/identity';
import { killAll, killOnce } from '../processes/kill-ladder';
import { openFiles } from '../processes/process-table';
import { Background } from './background';
import { Command, type CommandRequest, type Ending } from './command';
import { SessionFiles } from './command-files';
import { Foreground } from './foreground';
import { endBackground, endForeground, tracesOf } from './interruption';
import { Publication } from './publication';
import type { SessionDirectory } from './session-directory';
import { transition } from './session-state';
import { ShellHost, type ShellHostOptions } from './shell-host';
import type { StandardInput } from './standard-input';

const snapshotAfterMs = 100;

export interface SessionOptions extends Omit<ShellHostOptions, 'sessionId'> {
  id: string;
  name: string;
  envKeys: string[];
  defaultTimeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
  directory: SessionDirectory;
  logs: LogStore;
  limits: Limits;
  onChange: (session: Session, command?: Command) => void;
  onFinished: (command: Command) => void;
  onIdleTimeout: (session: Session) => void;
}

/** A shell and its commands, one after the other. */
export class Session {
  readonly commands = new Map<string, Command>();
  name: string;
  state: SessionState = 'creating';
  private readonly createdAt = new Date();
  private lastActiveAt = Date.now();
  private readonly mutex = new Mutex();
  private readonly host: ShellHost;
  private readonly files: SessionFiles;
  private readonly foreground: Foreground;
  private readonly background: Background;
  private readonly slots: SlotPool;
  private readonly publication: Publication;
  private active: Command | undefined;
  private nextNumber = 1;
  private queued = 0;
  private snapshotTimer: NodeJS.Timeout | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  private destroying: Promise<void> | undefined;

  private constructor(private readonly options: SessionOptions) {
    const { id, directory, logs } = options;
    this.name = options.name;
    this.files = new SessionFiles(directory);
    this.host = new ShellHost(
      { ...options, sessionId: id },
      {
        reported: (number, status, cwd) => this.foreground.reported(number, status, cwd),
        unprepared: (why) => this.foreground.unprepared(why),
        exited: (exit) => this.foreground.exited(exit),
        backgroundStarted: (number, pid) => this.background.started(number, pid),
        backgroundEnded: (number, status) => void this.background.ended(number, status),
      },
    );
    this.foreground = new Foreground(this.host, this.files);
    this.background = new Background(
      this.host,
      this.files,
      (command) => this.changed(command),
      (command, end, slot) => {
        this.finish(command, end);
        this.letGo(command, slot);
      },
    );
    this.slots = new SlotPool(directory.path, directory.readySlots, () => directory.addSlot());
    this.publication = new Publication(logs);
    logs.makeDirectory(id);
  }

  static async create(options: SessionOptions): Promise<Session> {
    const session = new Session(options);
    try {
      await session.host.start();
    } catch (error) {
      await session.destroy();
      throw error;
    }
    session.enter('idle');
    session.restartIdleTimer();
    return session;
  }

  get id(): string {
    return this.options.id;
  }

  get cwd(): string {
    return this.host.cwd;
  }

  /** The command the shell runs, or is about to. */
  get runningCommand(): Command | undefined {
    return this.active;
  }

  info(): SessionInfo {
    const { runningCommand: running, options, host } = this;
    return {
      sessionId: this.id,
      name: this.name,
      shell: options.shell.dialect.name,
      shellPath: options.shell.path,
      pid: host.pid ?? null,
      state: this.state,
      cwd: host.cwd,
      createdAt: this.createdAt.toISOString(),
      lastActiveAt: new Date(this.lastActiveAt).toISOString(),
      restarts: host.restarts,
      ...(running === undefined ? {} : { runningCommand: running.brief() }),
      queued: this.queued,
      backgroundCount: this.background.count,
      envKeys: options.envKeys,
      notes: host.notes,
    };
  }

  rename(name: string): void {
    this.name = name;
    this.changed();
  }

  /** Takes a command; it runs when its turn comes. */
  submit(request: CommandRequest, onBusy: 'queue' | 'reject'): Command {
    this.refuseIfFull(request, onBusy);
    const number = this.nextNumber++;
    const output = new CommandOutput(this.options.logs.create(this.id, number), request.maxOutputBytes);
    const command = new Command(this.id, number, request, output);
    this.commands.set(command.id, command);
    if (request.stdin.kind === 'open') this.files.keepInputOpen(command);
    this.queued++;
    this.lastActiveAt = Date.now();
    if (this.mutex.isLocked()) this.changed(command);
    void this.mutex.runExclusive(() => this.perform(command));
    return command;
  }

  input(command: Command): StandardInput | undefined {
    return this.files.input(command);
  }

  endInput(command: Command): void {
    this.files.input(command)?.end((path) => this.processes().some(({ pid }) => openFiles(pid).includes(path)));
  }

  /** Ends a command. Resolves when it is gone, or when everything was tried. */
  async interrupt(command: Command, why: 'cancelled' | 'timed_out', signal?: SignalName): Promise<void> {
    if (command.state === 'queued') {
      this.queued--;
      const notes = ['It was never started.'];
      this.finish(command, { outcome: why, exitCode: null, signal: null, cwd: this.cwd, notes });
      command.output.end();
      this.publication.ended(command);
      return;
    }
    if (command.isFinished) return;
    command.ending ??= why;
    command.interruption ??= this.end(command, signal);
    await command.interruption;
  }

  private async end(command: Command, signal: SignalName | undefined): Promise<void> {
    if (command.request.background) {
      await endBackground(command, signal, () => this.processesOf(command));
      this.background.abandon(command, 'It would not end and may still be there.');
      return;
    }
    await endForeground(command, signal, {
      shell: this.host,
      processes: () => this.processesOf(command),
      reportAgain: () => this.foreground.reportAgain(command),
    });
  }

  /** Sends a signal that does not end a command. */
  signal(command: Command, signal: SignalName): void {
    for (const identity of this.processesOf(command)) signalProcess(identity, signal);
  }

  /** What a running command is doing, by what the kernel says of its processes. */
  activity(command: Command): Activity {
    const pids = this.processesOf(command).map(({ pid }) => pid);
    return activityOf({ pids, stdin: this.files.input(command)?.fifo });
  }

  /** By evidence from the kernel. The shell counts: it reads the input itself when the command is a builtin. */
  waitsForInput(command: Command): boolean {
    const fifo = this.files.input(command)?.fifo;
    if (fifo === undefined) return false;
    const shell = this.host.identity;
    return [...this.processesOf(command), ...(shell === undefined ? [] : [shell])].some(({ pid }) =>
      readsFrom(pid, fifo),
    );
  }

  /** Kills everything the session started, and forgets it. */
  destroy(): Promise<void> {
    this.destroying ??= this.tearDown();
    return this.destroying;
  }

  /** As destroy, for a process that has no time left: nothing is waited for or answered. */
  killNow(): void {
    killOnce(() => this.processes());
    this.options.directory.remove();
  }

  private async tearDown(): Promise<void> {
    this.enter('terminated');
    clearTimeout(this.snapshotTimer);
    clearTimeout(this.idleTimer);
    await killAll(() => this.processes());
    await this.host.exited;
    for (const command of this.commands.values()) {
      if (command.isFinished) continue;
      command.slot?.drain();
      command.ending ??= 'cancelled';
      const notes = ['The session was destroyed before the command ended.'];
      this.finish(command, { outcome: command.ending, exitCode: null, signal: 'SIGKILL', cwd: this.cwd, notes });
    }
    this.foreground.destroyed();
    this.host.dispose();
    this.slots.dispose();
    this.publication.flush();
    for (const command of this.commands.values()) command.output.log.close();
    this.files.dispose();
    this.options.logs.leave(this.id);
  }

  private get isTerminated(): boolean {
    return this.state === 'terminated';
  }

  private refuseIfFull(request: CommandRequest, onBusy: 'queue' | 'reject'): void {
    const { limits } = this.options;
    if (this.isTerminated) throw failure.sessionTerminated(this.id);
    if (onBusy === 'reject' && (this.state === 'running' || this.queued > 0)) {
      throw failure.sessionBusy(this.id, this.runningCommand?.id);
    }
    if (this.queued >= limits.maxQueuedCommands) {
      throw failure.overloaded(
        `${this.queued} commands already wait in session ${this.id}. Wait for some of them first.`,
      );
    }
    if (request.background && this.background.count >= limits.maxBackgroundCommands) {
      throw failure.overloaded(
        `${this.background.count} commands already run in the background of session ${this.id}.`,
      );
    }
  }

  private async perform(command: Command): Promise<void> {
    if (command.isFinished || this.isTerminated) return;
    this.queued--;
    try {
      const taken = this.slots.take();
      const slot = taken instanceof Promise ? await taken : taken;
      if (this.isTerminated) return;
      command.slot = slot;
      command.begin();
      slot.bind(command.output);
      const timer = this.startTimer(command);
      if (command.request.background) await this.background.start(command, slot);
      else await this.performForeground(command, slot);
      if (timer !== undefined) void command.finished.then(() => clearTimeout(timer));
    } catch (error) {
      if (!this.isTerminated) this.fail(command, error instanceof LimpetError ? error : failure.internal());
    }
  }

  private async performForeground(command: Command, slot: Slot): Promise<void> {
    this.active = command;
    this.enter('running', command);
    try {
      const result = await this.foreground.run(command, slot, () => this.whileShellWorks());
      if (result === undefined || this.isTerminated) return;
      if ('error' in result) return this.fail(command, result.error);
      this.finish(command, result.end);
      if (result.isClosed) {
        slot.free();
        this.slotEnded(command, slot);
      } else this.letGo(command, slot);
    } finally {
      if (!this.isTerminated) this.rest(command);
    }
  }

  /** The moment for what can wait: the shell is at work, and nobody waits for the sidecar. */
  private whileShellWorks(): void {
    this.options.logs.prepare();
    this.publication.flushIfDue();
  }

  /** Back to idleness, and to what was put off until then. */
  private rest(command: Command): void {
    this.active = undefined;
    this.enter('idle', command);
    this.restartIdleTimer();
    if (this.snapshotTimer === undefined) {
      this.snapshotTimer = setTimeout(() => void this.takeSnapshot(), snapshotAfterMs);
      this.snapshotTimer.unref();
    } else {
      this.snapshotTimer.refresh();
    }
  }

  private async takeSnapshot(): Promise<void> {
    if (this.mutex.isLocked() || this.isTerminated) return;
    await this.mutex.runExclusive(() => this.host.snapshot());
  }

  private fail(command: Command, error: LimpetError): void {
    command.fail(error);
    this.settle(command);
    if (command.slot !== undefined) this.letGo(command, command.slot);
  }

  private finish(command: Command, end: Ending): void {
    command.finish(end);
    this.settle(command);
  }

  private settle(command: Command): void {
    this.lastActiveAt = Date.now();
    this.files.closeInput(command);
    this.publication.add(command);
    this.options.onFinished(command);
    this.forgetOldCommands();
    this.changed(command);
  }

  /** The slot is free when nobody has it open any more; until then what comes is still this command's. */
  private letGo(command: Command, slot: Slot): void {
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
      logs.forget(command.output.log, this.publication.drop(command));
    }
  }

  private startTimer(command: Command): NodeJS.Timeout | undefined {
    const ms = command.request.timeoutMs ?? this.options.defaultTimeoutMs;
    return ms === undefined ? undefined : setTimeout(() => void this.interrupt(command, 'timed_out'), ms);
  }

  private processes(): ProcessIdentity[] {
    const { pid: shell, since } = this.host;
    return processesOfSession({ sessionId: this.id, directory: this.options.directory.path, shell, since });
  }

  private processesOf(command: Command): ProcessIdentity[] {
    const root = command.request.background ? command.pid : this.host.pid;
    return root === undefined ? [] : processesOfCommand(tracesOf(command, root, this.background.pids, this.host.since));
  }

  private restartIdleTimer(): void {
    const { idleTimeoutMs } = this.options;
    if (idleTimeoutMs === undefined) return;
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => {
      if (this.state === 'idle' && this.queued === 0 && this.background.count === 0) this.options.onIdleTimeout(this);
      else this.restartIdleTimer();
    }, idleTimeoutMs);
    this.idleTimer.unref();
  }

  private enter(state: SessionState, command?: Command): void {
    if (this.state === state) return;
    this.state = transition(this.state, state);
    this.changed(command);
  }

  private changed(command?: Command): void {
    this.options.onChange(this, command);
  }
}
