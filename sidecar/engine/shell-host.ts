import { failure, LimpetError } from '../../protocol/errors';
import { reach } from '../checkpoints';
import { Occurrence } from '../occurrence';
import { readsStandardInput } from '../processes/activity';
import { shellsReading } from '../processes/command-processes';
import { isAlive, isSame, type ProcessIdentity, signalProcess } from '../processes/identity';
import { descriptorLimitOf, standardInputOf } from '../processes/process-table';
import type { Profile } from '../shells/dialect';
import type { Shell } from '../shells/find-shells';
import { Channel, type Record4 } from './channel';
import { restart } from './recovery';
import type { SessionDirectory } from './session-directory';
import { type ShellExit, ShellProcess } from './shell-process';
import { Snapshots } from './snapshots';

/** For an answer of the shell that something of the user's may have swallowed. */
const answerDeadlineMs = 2000;
const lookForAnswerMs = 50;

/** What must be known of a shell to go on with it in another process. */
export interface HostCondition {
  shell?: ProcessIdentity | undefined;
  ended?: EndedShell | undefined;
  since?: string | undefined;
  restarts: number;
  notes: string[];
  cwd: string;
  snapshotUpTo: number;
  profile?: Profile | undefined;
}

/** How a shell ended, and the last command it had been given. */
interface EndedShell extends ShellExit {
  lastNumber: number;
}

export interface ShellHostOptions {
  shell: Shell;
  profile: Profile;
  sessionId: string;
  directory: SessionDirectory;
  /** The whole environment of the shell. */
  env: Record<string, string>;
  cwd: string;
}

/** What a shell says when it is asked. */
export interface LastReport {
  number: number;
  status: number;
  cwd: string;
  /** The last background command it was given. */
  background: number;
}

/** What the shell has to say about commands. */
export interface ShellListener {
  /** The foreground command ended. */
  reported(number: number, status: number, cwd: string): void;
  /** An interrupt kept the shell from reading the foreground command. */
  notRun(number: number): void;
  /** What the shell last reported, because it was asked. */
  repeated(question: string, last: LastReport): void;
  /** A command could not be given its own directory (1), environment (2) or either (3), and was not run. */
  unprepared(number: number, why: string): void;
  /** `runner` is the child of the subshell that runs the command. */
  backgroundStarted(number: number, subshell: number, runner: number): void;
  backgroundEnded(number: number, status: number): void;
  /** The shell itself ended. */
  exited(exit: ShellExit): void;
  /** Something changed that another sidecar would have to know. */
  changed(): void;
}

/** Keeps a session's shell: starts it, replaces it when it ends, and knows how to bring its state back. */
export class ShellHost {
  cwd: string;
  restarts = 0;
  /** What a user should know about the present shell. */
  notes: string[] = [];
  /** The shell's `$-`, as far as its dialect reports it. */
  flags = '';
  /** `$?` as the next command shall see it. */
  lastStatus = 0;
  /** The last command the shell was given. */
  lastNumber = 0;
  /** The command number the shell exports now. */
  announced = 1;
  /** The start time of the first shell; no process of the session is older. */
  since: string | undefined;
  readonly channel: Channel;
  private process: ShellProcess | undefined;
  private isDisposed = false;
  /** A shell that ends is not replaced any more, and no command is given to one. */
  isRetired = false;
  private ended: EndedShell | undefined;
  /** Records from before this sidecar was there are not about what it asked for. */
  private hasCaughtUp = true;
  private profile: Profile;
  private readonly snapshots: Snapshots;
  private onSnapshot: () => void = () => {};
  private openings = 0;
  private onOpened: (question: number, can: boolean) => void = () => {};
  /** The present shell is gone, and what it had said before is known. */
  private gone = new Occurrence();

  constructor(
    private readonly options: ShellHostOptions,
    private readonly listener: ShellListener,
  ) {
    const { directory } = options;
    this.cwd = options.cwd;
    this.profile = options.profile;
    this.snapshots = new Snapshots(directory);
    this.channel = new Channel(directory.file('in'), directory.file('ctl'), (record) => this.onRecord(record));
  }

  /** Whether nothing of the user's is in a fresh shell: neither rc files nor functions or options from the environment. */
  get startsPlain(): boolean {
    const { profile, env } = this.options;
    return profile === 'clean' && !Object.keys(env).some((key) => /^(BASH_FUNC_|BASHOPTS$|SHELLOPTS$)/.test(key));
  }

  get dialect() {
    return this.options.shell.dialect;
  }

  get pid(): number | undefined {
    return this.process?.isAlive ? this.process.pid : undefined;
  }

  get identity(): ProcessIdentity | undefined {
    return this.process?.identity;
  }

  /** Another sidecar has it, or nobody. */
  get isLeft(): boolean {
    return this.isDisposed;
  }

  get isAlive(): boolean {
    return this.process?.isAlive === true;
  }

  /** Resolves when the present shell has ended. */
  get exited(): Promise<ShellExit | undefined> {
    return this.process?.exited ?? Promise.resolve(undefined);
  }

  /** As "exited", for whoever may stop waiting. */
  onGone(listener: () => void): () => void {
    return this.gone.once(listener);
  }

  /**
   * Whether it waits for a line. Only between commands is its standard input the one it is sent its lines through; and only if
   * it reads that itself, does it not wait for something that the wrapper has started.
   */
  get isWaiting(): boolean {
    const { pid } = this;
    return pid !== undefined && standardInputOf(pid) === this.options.directory.file('in') && readsStandardInput(pid);
  }

  /** Calls back when the shell is found waiting twice in a row; the answer ends the looking. */
  onWaiting(everyMs: number, callback: () => void): () => void {
    let wasWaiting = false;
    const timer = setInterval(() => {
      const { isWaiting } = this;
      if (isWaiting && wasWaiting) callback();
      wasWaiting = isWaiting;
    }, everyMs);
    return () => clearInterval(timer);
  }

  /** Starts the first shell; one whose rc files keep it from starting starts without them. */
  async start(): Promise<void> {
    try {
      await this.startFresh();
    } catch (error) {
      if (this.profile === 'clean' || !(error instanceof LimpetError)) throw error;
      this.profile = 'clean';
      this.notes = [`The shell was started without your rc files, because with them it failed. ${error.message}`];
      await this.exited;
      this.channel.takeBackLines();
      await this.startFresh();
      // It was never given anything, and the one that is there has not ended.
      this.ended = undefined;
    }
  }

  /** Goes on with the shell of a sidecar that is gone, whether it still lives or not. */
  resume(saved: HostCondition, lastNumber: number): void {
    const { shell, since, restarts, notes, cwd, snapshotUpTo } = saved;
    this.since = since;
    this.restarts = restarts;
    this.notes = notes;
    this.cwd = cwd;
    this.lastNumber = lastNumber;
    // Which it is now is not known for certain, so the next command says its own.
    this.announced = 0;
    this.snapshots.upTo = snapshotUpTo;
    this.hasCaughtUp = false;
    this.ended = saved.ended;
    this.profile = saved.profile ?? this.profile;
    const process = ShellProcess.adopt(shell, this.options.directory, saved.ended);
    if (saved.ended !== undefined || shell === undefined || !isAlive(shell)) this.endUnfinished();
    // It may have been stopped by a sidecar that was about to interrupt it, and did not live to continue it.
    process.signal('SIGCONT');
    this.adopt(process);
  }

  get condition(): HostCondition {
    const { identity, ended, since, restarts, notes, cwd, snapshots, profile } = this;
    return { shell: identity, ended, since, restarts, notes, cwd, snapshotUpTo: snapshots.upTo, profile };
  }

  /** Makes sure that there is a shell, which may have ended while nothing ran. Answers with what had to be done. */
  async ensure(): Promise<string[]> {
    const exit = this.process?.exit;
    if (exit === undefined) return [];
    const notes = await this.recover(exit);
    this.noteReplaced();
    return notes;
  }

  /** Whether the shell ended before it was given that command. */
  endedBefore(number: number): boolean {
    return this.ended !== undefined && this.ended.lastNumber < number;
  }

  /** The shell ended without having read that command, so the next one is given it. */
  neverGave(number: number): void {
    if (this.ended !== undefined) this.ended.lastNumber = number - 1;
    this.lastNumber = number - 1;
    this.listener.changed();
  }

  /** The shell that is there now counts from here on: a sidecar that finds it noted goes on with it. */
  noteReplaced(): void {
    this.ended = undefined;
    this.listener.changed();
  }

  /**
   * Replaces a shell that ended. That it did is for the caller to note: after how the command ended that took the shell along,
   * which the new one cannot be asked about, and before the new one is given anything.
   */
  async recover(exit: ShellExit): Promise<string[]> {
    this.restarts++;
    const { ready, notes } = await restart(
      {
        ...this.shellStart(),
        candidates: this.snapshots.candidates,
        restoredEnv: this.snapshots.stillExported(this.options.env),
        directories: [this.cwd, this.options.cwd],
        exit,
        isCurrent: this.snapshots.upTo === this.lastNumber,
        isOver: () => this.isRetired,
      },
      (process) => this.adopt(process),
    );
    this.flags = '';
    this.cwd = ready.cwd === '' ? this.cwd : ready.cwd;
    this.notes = notes;
    reach('shell-replaced');
    return notes;
  }

  send(lines: string): void {
    if (!this.channel.send(lines)) {
      throw failure.overloaded('The shell does not read what it is sent. Cancel what it runs, or destroy the session.');
    }
  }

  /** Signals the shell alone. */
  signal(signal: NodeJS.Signals): void {
    if (!this.isDisposed) this.process?.signal(signal);
  }

  /** Takes a snapshot, unless the last one is still true. Only while no command runs. */
  async snapshot(): Promise<void> {
    if (!this.isAlive || this.snapshots.upTo === this.lastNumber) return;
    await this.answer(this.dialect.snapshot(this.lastNumber), (resolve) => {
      this.onSnapshot = resolve;
    });
  }

  /** Whether the shell can still open files. After "set -r" or a low limit it runs no command, and tells of each as failed. */
  async canOpen(): Promise<boolean> {
    const asked = ++this.openings;
    const line = this.dialect.canOpen(asked);
    const { pid } = this;
    if (pid === undefined) return true;
    if (line === undefined)
      return (descriptorLimitOf(pid) ?? Number.POSITIVE_INFINITY) >= this.dialect.fewestDescriptors;
    let can = true;
    await this.answer(line, (resolve) => {
      this.onOpened = (question, answer) => {
        if (question !== asked) return;
        can = answer;
        resolve();
      };
    });
    return can;
  }

  /** Sends the shell a line, and waits for what it answers, but not for ever. An interrupt may have made it drop the line. */
  private async answer(line: string, listen: (answered: () => void) => void): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let forget = () => {};
    let stop = () => {};
    const done = new Promise<void>((resolve) => {
      listen(resolve);
      forget = this.onGone(resolve);
      timer = setTimeout(resolve, answerDeadlineMs);
      stop = this.onWaiting(lookForAnswerMs, () => {
        stop();
        this.channel.send(line);
      });
    });
    this.channel.send(line);
    await done;
    stop();
    forget();
    clearTimeout(timer);
  }

  /** What was saved of its state was removed, so it is saved again. */
  loseSnapshots(): void {
    this.snapshots.lose();
  }

  /** From now on a shell that ends is not replaced. */
  retire(): void {
    this.isRetired = true;
  }

  dispose(): void {
    this.isDisposed = true;
    this.channel.dispose();
  }

  /**
   * A sidecar that is gone may have begun to start a shell in place of the one that ended, of which nobody knows more than
   * that it reads the lines that are meant for the next.
   */
  private endUnfinished(): void {
    const { directory } = this.options;
    const isKeeper = (one: ProcessIdentity) => directory.keepers.some((keeper) => isSame(one, keeper));
    const readers = shellsReading(directory.file('in')).filter((reader) => !isKeeper(reader));
    for (const reader of readers) signalProcess(reader, 'SIGKILL');
  }

  private async startFresh(): Promise<void> {
    const start = { ...this.shellStart(), cwd: this.cwd, restoreFile: undefined };
    const ready = await ShellProcess.start(start, (process) => this.adopt(process));
    this.cwd = ready.cwd === '' ? this.cwd : ready.cwd;
  }

  private shellStart() {
    const { shell, sessionId, directory, env } = this.options;
    const nextNumber = this.announced;
    return { shell, profile: this.profile, sessionId, directory, channel: this.channel, env, nextNumber };
  }

  private adopt(process: ShellProcess): void {
    const gone = new Occurrence();
    this.process = process;
    this.gone = gone;
    this.since ??= process.identity?.startTime;
    void process.exited.then((exit) => {
      if (this.process !== process) return;
      // What the shell said before it ended counts.
      this.channel.drainRecords();
      // One that ends while it starts is not the one that the commands were given to.
      this.ended ??= { ...exit, lastNumber: this.lastNumber };
      this.listener.changed();
      gone.happen();
      this.listener.exited(exit);
    });
  }

  private onRecord([kind, number, value, cwd]: Record4): void {
    reach('record-read');
    const { listener } = this;
    if (kind === 'D' || kind === 'A') {
      const statusEnd = value.indexOf(' ');
      if (statusEnd >= 0) this.flags = value.slice(statusEnd + 1);
      const status = Number(statusEnd < 0 ? value : value.slice(0, statusEnd));
      if (kind === 'D') listener.reported(Number(number), status, cwd);
      else {
        // One that was started by an earlier version does not tell; then it is taken to have read everything.
        const [counted, question = '', background = Number.POSITIVE_INFINITY, refused = ''] = number.split(':');
        const [unprepared, why] = refused.split('.');
        if (why !== undefined && unprepared === counted) listener.unprepared(Number(counted), why);
        this.hasCaughtUp = true;
        listener.repeated(question, { number: Number(counted), status, cwd, background: Number(background) });
      }
    } else if (kind === 'N') listener.notRun(Number(number));
    else if (kind === 'F') listener.unprepared(Number(number), value);
    else if (kind === 'P') listener.backgroundStarted(Number(number), Number(value), Number(cwd));
    else if (kind === 'E') listener.backgroundEnded(Number(number), Number(value));
    else if (kind === 'O') this.onOpened(Number(value), number === '0');
    else if (kind === 'B') this.process?.reportReady({ restored: number, cwd });
    else if (kind === 'T') {
      if (number === '0') {
        // One it was asked for may come when the next command has already been given; one it takes as it ends knows all.
        const upTo = value === '' ? this.lastNumber : Number(value);
        this.snapshots.complete(this.hasCaughtUp ? upTo : 0);
        this.listener.changed();
      }
      this.onSnapshot();
    }
  }
}
