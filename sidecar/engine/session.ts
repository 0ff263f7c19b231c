import { setTimeout as pause } from 'node:timers/promises';
import { Semaphore } from 'async-mutex';
import { failure, LimpetError } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';
import type { Activity, SessionInfo, SessionState, SignalName } from '../../protocol/values';
import { reach } from '../checkpoints';
import { CommandOutput } from '../output/command-output';
import type { LogStore } from '../output/log-store';
import type { Slot } from '../output/slot';
import { SlotPool } from '../output/slot-pool';
import { activityOf, readsFrom } from '../processes/activity';
import { killSessions, type SessionTraces } from '../processes/command-processes';
import { isAlive, isSame, type ProcessIdentity, signalProcess } from '../processes/identity';
import { collected, killOnce } from '../processes/kill-ladder';
import { openFiles } from '../processes/process-table';
import { describeTrouble, systemFailure } from '../system-failure';
import { type AdoptingSession, adoptCommand } from './adoption';
import { Background } from './background';
import { Command, type CommandRequest, type Ending } from './command';
import { neverStarted, unknownEnd } from './command-end';
import { SessionFiles } from './command-files';
import { Foreground } from './foreground';
import { IdleTimers } from './idle-timers';
import { Interruptions } from './interruptions';
import type { SessionCondition, SessionFoundation } from './journal-records';
import { Publication } from './publication';
import { RememberedCommands } from './remembered-commands';
import { resumedCommand } from './resumed-command';
import type { SavedCommand, SavedSession } from './saved-session';
import type { SessionDirectory } from './session-directory';
import { SessionJournal } from './session-journal';
import { SessionProcesses } from './session-processes';
import { transition } from './session-state';
import { ShellHost, type ShellHostOptions } from './shell-host';
import { SlotCare } from './slot-care';
import type { StandardInput } from './standard-input';
import { disown } from './sweep';
import { isoTime } from './times';

const stuckMs = 5000;

export interface SessionOptions extends Omit<ShellHostOptions, 'sessionId'> {
  id: string;
  name: string;
  /** Milliseconds since 1970; now by default. */
  createdAt?: number;
  envKeys: string[];
  /** The sidecar that had it before was killed, and did not hand over. */
  isBereft?: boolean;
  defaultTimeoutMs: number | undefined;
  idleTimeoutMs: number | undefined;
  directory: SessionDirectory;
  logs: LogStore;
  limits: Limits;
  onChange: (session: Session, command?: Command) => void;
  onFinished: (command: Command) => void;
  /** Nobody can print for it any more. */
  onOutputEnded: (command: Command) => void;
  onIdleTimeout: (session: Session) => void;
  /** Something failed that nobody is to blame for but us. */
  onBug: (session: Session, thrown: unknown) => void;
  /** The journal cannot be written: the session would not survive this process. */
  onUnrecorded: (session: Session, error: unknown) => void;
}

/** A shell and its commands, one after the other. */
export class Session {
  readonly commands: RememberedCommands;
  name: string;
  state: SessionState = 'creating';
  private readonly createdAt: number;
  private lastActiveAt: number;
  /** Of one, which is a mutex with fewer promises on the way of every command. */
  private readonly mutex = new Semaphore(1);
  private readonly host: ShellHost;
  private readonly files: SessionFiles;
  private readonly foreground: Foreground;
  private readonly background: Background;
  private readonly slots: SlotPool;
  private readonly slotCare: SlotCare;
  private readonly publication: Publication;
  private readonly processes: SessionProcesses;
  private readonly journal: SessionJournal;
  private readonly timers: IdleTimers;
  private readonly interruptions: Interruptions;
  private active: Command | undefined;
  private nextNumber = 1;
  private queued = 0;
  private destroying: Promise<void> | undefined;

  private constructor(private readonly options: SessionOptions) {
    const { id, directory, logs } = options;
    this.name = options.name;
    this.lastActiveAt = Date.now();
    this.createdAt = options.createdAt ?? this.lastActiveAt;
    this.commands = new RememberedCommands(options.limits, (command) => this.forgetFiles(command));
    this.files = new SessionFiles(directory, {
      early: (command, data) => this.journal.input(command, data),
      kept: (command, keeper) => {
        command.inputKeeper = keeper;
        this.journal.inputKept(command, keeper);
      },
    });
    try {
      this.host = new ShellHost(
        { ...options, sessionId: id },
        {
          reported: (number, status, cwd) => this.foreground.reported(number, status, cwd),
          notRun: (number) => this.foreground.notRun(number),
          repeated: (question, last) => this.foreground.questions.answered(question, last),
          changed: () => this.journal.changed(),
          unprepared: (number, why) => {
            if (!this.background.unprepared(number, why)) this.foreground.unprepared(number, why);
          },
          exited: (exit) => this.foreground.exited(exit),
          backgroundStarted: (number, subshell, runner) => this.background.started(number, subshell, runner),
          backgroundEnded: (number, status) => void this.background.ended(number, status),
        },
      );
    } catch (error) {
      this.files.leave();
      throw error;
    }
    this.foreground = new Foreground(
      this.host,
      this.files,
      () => this.forgetOldCommands(),
      (thrown) => options.onBug(this, thrown),
    );
    this.background = new Background(
      this.host,
      this.files,
      (command) => {
        if (command.subshell !== undefined) this.journal.subshell(command, command.subshell);
        this.changed(command);
      },
      (command, end, slot) => {
        if (this.isTerminated) return;
        if ('error' in end) return this.fail(command, end.error);
        this.finish(command, end);
        this.letGo(command, slot);
      },
      (slot) => this.processes.subshellOf(slot.paths),
    );
    this.slots = new SlotPool(directory.path, directory.slots, () => this.slotCare.add());
    this.slotCare = new SlotCare(id, this.slots, directory, options.limits.maxOpenOutputs, {
      changed: () => {
        if (!this.isTerminated) this.journal.changed();
      },
      beforeRemoval: () => this.journal.flush(),
    });
    this.processes = new SessionProcesses(id, this.host, this.background, this.files, this.foreground);
    this.journal = new SessionJournal(
      directory.file('journal'),
      {
        foundation: foundationOf(options, this.createdAt),
        condition: () => this.condition(),
        commands: () => this.commands.all(),
      },
      (error) => options.onUnrecorded(this, error),
    );
    this.publication = new Publication(logs, () => this.whileIdle());
    this.timers = new IdleTimers(options.idleTimeoutMs, {
      takeSnapshot: () => void this.takeSnapshot(),
      timeOut: () => this.timeOutIfIdle(),
    });
    this.interruptions = new Interruptions(
      { host: this.host, foreground: this.foreground, background: this.background, processes: this.processes },
      options.defaultTimeoutMs,
      {
        isOver: () => this.isTerminated,
        begun: (command) => this.journal.interrupted(command),
        failed: (error) => options.onBug(this, error),
      },
    );
    logs.makeDirectory(id);
  }

  static async create(options: SessionOptions): Promise<Session> {
    const session = Session.make(options);
    try {
      await session.host.start();
    } catch (error) {
      await session.destroy();
      throw error;
    }
    session.journal.rewrite();
    session.enter('idle');
    session.timers.restartTimeout();
    reach('session-ready');
    return session;
  }

  /** Goes on with a session of a sidecar that is gone: its shell, its commands and its queue. */
  static adopt(options: SessionOptions, saved: SavedSession): Session {
    const session = new Session(options);
    try {
      session.resume(saved);
    } catch (error) {
      session.letAlone();
      throw error;
    }
    return session;
  }

  /** Out of descriptors, for one: then nothing of it stays. */
  private static make(options: SessionOptions): Session {
    try {
      return new Session(options);
    } catch (error) {
      options.directory.remove();
      throw error;
    }
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
      createdAt: isoTime(this.createdAt),
      lastActiveAt: isoTime(this.lastActiveAt),
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
    this.journal.changed();
    this.changed();
  }

  /** Takes a command; it runs when its turn comes. */
  submit(request: CommandRequest, onBusy: 'queue' | 'reject'): Command {
    this.refuseIfFull(request, onBusy);
    const number = this.nextNumber++;
    const log = this.options.logs.create(this.id, number);
    const output = new CommandOutput(log, request.maxOutputBytes, this.journal.chunksOf(number));
    const command = new Command(this.id, number, request, output);
    this.commands.add(command);
    if (request.stdin.kind === 'open') this.files.keepInputOpen(command);
    this.queued++;
    this.lastActiveAt = Date.now();
    this.journal.taken(command);
    const isFree = !this.mutex.isLocked();
    if (!isFree) {
      this.journal.flush();
      this.changed(command);
    }
    void this.performInTurn(command, isFree);
    return command;
  }

  input(command: Command): StandardInput | undefined {
    return this.files.input(command);
  }

  endInput(command: Command): void {
    command.inputEnded = true;
    this.journal.inputEnded(command);
    const isReader = (one: ProcessIdentity, path: string) =>
      !this.files.keepers.some((keeper) => isSame(one, keeper)) && openFiles(one.pid).includes(path);
    this.files.input(command)?.end((path) => this.processes.all().some((one) => isReader(one, path)));
  }

  /** Ends a command. Resolves when it is gone, or when everything was tried. */
  async interrupt(command: Command, why: 'cancelled' | 'timed_out', signal?: SignalName): Promise<void> {
    // What was left to another sidecar is that one's to end.
    if (command.state !== 'queued' || this.isTerminated) return this.interruptions.end(command, why, signal);
    this.queued--;
    const notes = [neverStarted];
    this.finish(command, { outcome: why, exitCode: null, signal: null, cwd: this.cwd, notes });
    this.endOutput(command);
  }

  /** Sends a signal that does not end a command. */
  signal(command: Command, signal: SignalName): void {
    for (const identity of this.processes.of(command)) signalProcess(identity, signal);
  }

  /** What a running command is doing, by what the kernel says of its processes. */
  activity(command: Command): Activity {
    const pids = this.processes.of(command).map(({ pid }) => pid);
    return activityOf({ pids, stdin: this.files.input(command)?.fifo });
  }

  /** By evidence from the kernel. The shell counts: it reads the input itself when the command is a builtin. */
  waitsForInput(command: Command): boolean {
    const fifo = this.files.input(command)?.fifo;
    if (fifo === undefined) return false;
    const shell = this.host.identity;
    return [...this.processes.of(command), ...(shell === undefined ? [] : [shell])].some(({ pid }) =>
      readsFrom(pid, fifo),
    );
  }

  /** Resolves when it is destroyed or left, if that has begun. */
  get ending(): Promise<void> | undefined {
    return this.destroying;
  }

  /** Kills everything the session started, and forgets it. `killing` is when somebody else has begun with that. */
  destroy(killing?: Promise<unknown>): Promise<void> {
    this.destroying ??= this.tearDown(killing).catch((error: unknown) => {
      // What was not killed must not be forgotten; whoever asks again, tries again.
      this.destroying = undefined;
      throw error;
    });
    return this.destroying;
  }

  /** As destroy, for a process that has no time left: nothing is waited for or answered. */
  killNow(): void {
    killOnce(() => this.processes.all());
    this.options.directory.remove();
  }

  /** Lets go of the session without ending anything in it: another sidecar goes on with it. Everything read is noted. */
  leave(): void {
    // One that is being destroyed is destroyed, if not by this sidecar then by the next.
    if (this.isTerminated) return;
    this.destroying = Promise.resolve();
    this.host.retire();
    this.enter('terminated');
    this.timers.stop();
    this.slots.dispose();
    this.publication.flush();
    this.files.leave();
    this.host.dispose();
    this.journal.rewrite();
    this.journal.close();
    for (const command of this.commands.all()) {
      command.output.log.save();
      command.output.log.close();
      if (!command.isFinished) command.handOver();
    }
    disown(this.options.directory.path);
  }

  /** What was begun to be gone on with goes no further here: another sidecar may have more luck. */
  private letAlone(): void {
    this.destroying = Promise.resolve();
    this.host.retire();
    this.enter('terminated');
    this.timers.stop();
    this.slots.dispose();
    this.files.leave();
    this.host.dispose();
    this.journal.discard();
  }

  /** What somebody was shown of the output must be known to whoever goes on with it. */
  noteOutput(): void {
    this.journal.flush();
  }

  private async tearDown(killing: Promise<unknown> | undefined): Promise<void> {
    this.host.retire();
    this.enter('terminated');
    this.timers.stop();
    this.journal.destroyed();
    await (killing ?? killSessions(() => [this.traces]));
    // One that is stuck in the kernel ends when it can; nobody has to wait for that.
    await Promise.race([this.host.exited, pause(stuckMs, null, { ref: false })]);
    await collected(this.options.directory.keepers);
    const commands = [...this.commands.all()];
    this.doAll([
      ...commands.map(
        ({ slot }) =>
          () =>
            void slot?.drain(),
      ),
      ...commands.map((command) => () => this.finishDestroyed(command)),
      () => this.foreground.destroyed(),
      () => this.host.dispose(),
      ...commands.map((command) => () => this.endOutput(command)),
      () => this.slots.dispose(),
      () => this.publication.flush(),
      () => this.journal.close(),
      ...commands.map(
        ({ output }) =>
          () =>
            output.log.close(),
      ),
      () => this.files.dispose(),
      () => this.options.logs.leave(this.id),
    ]);
  }

  private finishDestroyed(command: Command): void {
    if (command.isFinished) return;
    const wasBegun = command.state === 'running';
    command.ending ??= 'cancelled';
    const notes = [wasBegun ? 'The session was destroyed before the command ended.' : neverStarted];
    const signal = wasBegun ? 'SIGKILL' : null;
    this.finish(command, { outcome: command.ending, exitCode: null, signal, cwd: this.cwd, notes });
  }

  /** Each is done whatever becomes of the one before: one that fails must not keep the session from going. */
  private doAll(steps: readonly (() => void)[]): void {
    for (const step of steps) {
      try {
        step();
      } catch (error) {
        this.options.onBug(this, error);
      }
    }
  }

  private resume(saved: SavedSession): void {
    const { condition, commands } = saved;
    this.name = condition.name;
    this.nextNumber = saved.nextNumber;
    this.foreground.lines.resume(condition);
    const isBegun = ({ began, request }: SavedCommand) => began !== undefined && !request.background;
    const wasGiven = (command: SavedCommand) =>
      isBegun(command) || (command.ended !== undefined && !command.request.background);
    this.host.resume(condition, Math.max(0, ...commands.filter(wasGiven).map(({ number }) => number)));
    this.enter('idle');
    const isBusy = commands.some((command) => isBegun(command) && command.ended === undefined);
    if (!isBusy) this.resumeInTurn(() => this.foreground.questions.getToKnow());
    for (const command of commands) this.resumeCommand(command);
    this.journal.rewrite();
    this.timers.rest();
    void this.slotCare.keepTheRest();
  }

  /** Now and then: keepers that somebody has ended are replaced, and slots that many commands at once needed removed. */
  lookAfterSlots(): void {
    if (this.isTerminated || !this.hasDirectory) return;
    this.files.keepInputsAgain();
    this.slotCare.look();
  }

  private resumeCommand(saved: SavedCommand): void {
    const { logs, isBereft } = this.options;
    const command = resumedCommand(saved, this.id, logs, this.journal.chunksOf(saved.number));
    this.commands.add(command);
    const slot = saved.began === undefined || saved.isFreed ? undefined : this.slots.claim(saved.began.slot);
    command.slot = slot;
    slot?.bind(command.output);
    if (slot !== undefined && saved.ended === undefined) command.isBereft ||= isBereft === true;
    adoptCommand(this.adopting(), command, slot, saved);
  }

  private adopting(): AdoptingSession {
    const { cwd, files, foreground, background, processes, publication } = this;
    return {
      ...{ cwd, logs: this.options.logs, files, foreground, background, processes, publication },
      inTurn: (work) => this.resumeInTurn(work),
      queue: (command) => {
        this.queued++;
        this.resumeInTurn(() => this.perform(command));
      },
      awaitForeground: (command, slot) => this.performForeground(command, slot, 'resume'),
      startTimer: (command) => this.interruptions.startTimer(command),
      interrupt: (command, why) => this.interruptions.endUnasked(command, why),
      endInput: (command) => this.endInput(command),
      endOutput: (command) => this.endOutput(command),
      finish: (command, end) => this.finish(command, end),
      failUnlessOver: (command, error) => this.failUnlessOver(command, error),
      letGo: (command, slot) => this.letGo(command, slot),
    };
  }

  private resumeInTurn(work: () => Promise<void>): void {
    this.mutex
      .runExclusive(() => (this.isTerminated ? undefined : work()))
      .catch((error: unknown) => this.options.onBug(this, error))
      .finally(() => this.snapshotLater());
  }

  /** Whether its directory is where it belongs; nobody needs that of one that is being destroyed. */
  get hasDirectory(): boolean {
    return this.isTerminated || this.options.directory.isThere;
  }

  /** Makes its directory again after somebody removed it. What runs does not notice. */
  restoreDirectory(): void {
    // One that is seen to run now was given its streams before they were gone.
    this.active?.slot?.follow();
    const keepers = this.files.keepers.filter(isAlive).map(({ pid }) => pid);
    this.options.directory.restore(keepers, (directory) => this.files.copyText(directory));
    this.files.reopen();
    this.foreground.restorations++;
    this.host.loseSnapshots();
    this.journal.rewrite();
    this.timers.scheduleSnapshot();
  }

  /** What the session's processes are known by. */
  get traces(): SessionTraces {
    return this.processes.traces;
  }

  private condition(): SessionCondition {
    const { keepers } = this.options.directory;
    return { name: this.name, ...this.host.condition, ...this.foreground.lines.known, keepers };
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
    if (request.background && this.backgroundCommands >= limits.maxBackgroundCommands) {
      throw failure.overloaded(
        `${this.backgroundCommands} commands already run in the background of session ${this.id}, or wait for that. Cancel some, or wait for them.`,
      );
    }
  }

  /** Those that have yet to start among them: once their turn has come nobody can be told that there are too many. */
  private get backgroundCommands(): number {
    const waiting = [...this.commands.all()].filter(({ state, request }) => state === 'queued' && request.background);
    return this.background.count + waiting.length;
  }

  /** One whose turn it is already begins at once: a promise that is kept still takes a moment. */
  private async performInTurn(command: Command, isFree: boolean): Promise<void> {
    const turn = this.mutex.acquire();
    if (!isFree) await turn;
    try {
      await this.perform(command);
    } catch (error) {
      this.options.onBug(this, error);
    } finally {
      const [, release] = await turn;
      release();
    }
  }

  private async perform(command: Command): Promise<void> {
    if (command.isFinished || this.isTerminated) return;
    try {
      const taken = command.request.stdin.kind === 'open' ? this.slots.takeWithInput() : this.slots.take();
      if (taken instanceof Promise) this.journal.flush();
      const slot = taken instanceof Promise ? await taken : taken;
      if (this.isTerminated) return;
      if (command.isFinished) return this.slots.giveBack(slot);
      this.queued--;
      this.options.logs.saveFor(command.request.text);
      command.slot = slot;
      command.begin();
      slot.bind(command.output);
      this.journal.began(command, slot);
      this.interruptions.startTimer(command);
      if (!command.request.background) return await this.performForeground(command, slot, 'run');
      await this.background.start(command, slot);
      this.snapshotLater();
    } catch (error) {
      if (command.state === 'queued') this.queued--;
      this.failUnlessOver(command, error);
    }
  }

  private failUnlessOver(command: Command, error: unknown): void {
    if (this.isTerminated) return;
    if (!command.isFinished && this.foreground.wasGiven(command)) {
      this.finishUntold(command, error);
      return;
    }
    const why = this.explain(error);
    if (command.isFinished) return;
    // It runs, or may run; its end is seen to like any other's.
    if (this.background.has(command)) this.background.lookAfter(command);
    else this.fail(command, why);
  }

  /** It may have run, so it must not look as if it had not: whoever is told that runs it again. */
  private finishUntold(command: Command, error: unknown): void {
    const why = error instanceof LimpetError ? error.message : describeTrouble(error);
    if (why === undefined) this.options.onBug(this, error);
    try {
      command.slot?.drain();
    } catch {
      // What could not be read now comes with what is printed late.
    }
    const note = `The shell was given it, but its exit code is unknown, because something failed then: ${why ?? failure.internal().message}`;
    this.finish(command, unknownEnd(command, this.cwd, note));
    if (command.slot !== undefined) this.letGo(command, command.slot);
  }

  private explain(error: unknown): LimpetError {
    if (error instanceof LimpetError) return error;
    const refused = systemFailure(error);
    if (refused !== undefined) return refused;
    if (!this.hasDirectory) {
      return failure.overloaded("The session's directory was just removed, so nothing was run. Run it again.");
    }
    this.options.onBug(this, error);
    return failure.internal();
  }

  private async performForeground(command: Command, slot: Slot, how: 'run' | 'resume'): Promise<void> {
    const { known } = this.foreground.lines;
    const { restarts } = this.host;
    this.active = command;
    this.enter('running', command);
    try {
      const result = await this.foreground[how](command, slot);
      if (result === undefined || this.isTerminated) return;
      if ('error' in result) return this.fail(command, result.error);
      this.finish(command, result.end);
      if (result.isClosed) {
        slot.free();
        this.slotEnded(command, slot);
      } else this.letGo(command, slot);
    } finally {
      if (!this.isTerminated) {
        // After how the command ended: a shell that has taken another's place cannot be asked about that.
        const { foreground, host } = this;
        if (restarts !== host.restarts && host.isAlive) host.noteReplaced();
        if (foreground.lines.known !== known) this.journal.changed();
        this.rest(command);
      }
    }
  }

  private whileIdle(): void {
    this.forgetOldCommands();
    this.commands.clearForgotten();
    this.journal.tidy();
  }

  /** Back to idleness, and to what was put off until then. */
  private rest(command: Command): void {
    this.active = undefined;
    this.enter('idle', command);
    this.timers.rest();
  }

  /** One that was due may have been put off for what was done in the session meanwhile. */
  private snapshotLater(): void {
    if (!this.isTerminated) this.timers.scheduleSnapshot();
  }

  private async takeSnapshot(): Promise<void> {
    if (this.mutex.isLocked() || this.isTerminated) return;
    // What could not be saved now is saved when the session is next idle.
    await this.mutex.runExclusive(() => this.host.snapshot()).catch(() => {});
  }

  private timeOutIfIdle(): boolean {
    const isIdle = this.state === 'idle' && this.queued === 0 && this.background.count === 0;
    if (isIdle) this.options.onIdleTimeout(this);
    return isIdle;
  }

  private fail(command: Command, error: LimpetError): void {
    command.fail(error);
    this.settle(command);
    if (command.slot === undefined) this.endOutput(command);
    else this.letGo(command, command.slot);
  }

  /** Nobody can print for it any more, or ever could. */
  private endOutput(command: Command): void {
    if (command.output.ended) return;
    command.output.end();
    this.outputEnded(command);
  }

  private outputEnded(command: Command): void {
    this.commands.ended(command);
    this.publication.ended(command);
    this.options.onOutputEnded(command);
  }

  private finish(command: Command, end: Ending): void {
    command.finish(end);
    this.settle(command);
  }

  private settle(command: Command): void {
    this.lastActiveAt = Date.now();
    this.files.release(command);
    command.dropWhatItWasGiven();
    this.journal.ended(command);
    this.publication.add(command);
    this.options.onFinished(command);
    // One in the foreground ends with the session at rest, which begins anew there.
    if (command.request.background && !this.isTerminated) this.timers.restartTimeout();
    this.changed(command);
  }

  /** The slot is free when nobody has it open any more; until then what comes is still this command's. */
  private letGo(command: Command, slot: Slot): void {
    command.output.log.goLive();
    slot.linger(() => this.slotEnded(command, slot));
  }

  private slotEnded(command: Command, slot: Slot): void {
    command.slot = undefined;
    this.journal.freed(command);
    this.outputEnded(command);
    if (!this.isTerminated) this.slots.giveBack(slot);
  }

  /** Those that have yet to run, or run beside the others, take nobody's place. */
  private forgetOldCommands(): void {
    this.commands.forgetOld(this.queued + this.background.count);
  }

  private forgetFiles(command: Command): void {
    this.journal.forgotten(command);
    this.options.logs.forget(command.output.log, this.publication.drop(command));
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

function foundationOf(options: SessionOptions, createdAt: number): SessionFoundation {
  const { shell, profile, cwd, env, envKeys, defaultTimeoutMs, idleTimeoutMs } = options;
  return { shell: shell.path, profile, cwd, env, envKeys, defaultTimeoutMs, idleTimeoutMs, createdAt };
}
