import { failure, LimpetError } from '../../protocol/errors';
import type { ProcessIdentity } from '../processes/identity';
import type { Profile } from '../shells/dialect';
import type { Shell } from '../shells/find-shells';
import { Channel, type Record4 } from './channel';
import { restart } from './recovery';
import type { SessionDirectory } from './session-directory';
import { type ShellExit, ShellProcess } from './shell-process';
import { Snapshots } from './snapshots';

const snapshotDeadlineMs = 2000;

export interface ShellHostOptions {
  shell: Shell;
  profile: Profile;
  sessionId: string;
  directory: SessionDirectory;
  /** The whole environment of the shell. */
  env: Record<string, string>;
  cwd: string;
}

/** What the shell has to say about commands. */
export interface ShellListener {
  /** The foreground command ended. */
  reported(number: number, status: number, cwd: string): void;
  /** The foreground command could not be given its directory (1) or environment (2). */
  unprepared(why: string): void;
  backgroundStarted(number: number, pid: number): void;
  backgroundEnded(number: number, status: number): void;
  /** The shell itself ended. */
  exited(exit: ShellExit): void;
}

/** Keeps a session's shell: starts it, replaces it when it ends, and knows how to bring its state back. */
export class ShellHost {
  cwd: string;
  restarts = 0;
  /** What a user should know about the present shell. */
  notes: string[] = [];
  /** The shell's `$-`, as far as its dialect reports it. */
  flags = '';
  /** The last command the shell was given. */
  lastNumber = 0;
  /** The command number the shell exports now. */
  announced = 1;
  /** The start time of the first shell; no process of the session is older. */
  since: string | undefined;
  readonly channel: Channel;
  private process: ShellProcess | undefined;
  private profile: Profile;
  private readonly snapshots: Snapshots;
  private onSnapshot: () => void = () => {};

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

  get dialect() {
    return this.options.shell.dialect;
  }

  get pid(): number | undefined {
    return this.process?.isAlive ? this.process.pid : undefined;
  }

  get identity(): ProcessIdentity | undefined {
    return this.process?.identity;
  }

  get isAlive(): boolean {
    return this.process?.isAlive === true;
  }

  /** Resolves when the present shell has ended. */
  get exited(): Promise<unknown> {
    return this.process?.exited ?? Promise.resolve();
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
    }
  }

  /** Makes sure that there is a shell, which may have ended while nothing ran. Answers with what had to be done. */
  async ensure(): Promise<string[]> {
    const exit = this.process?.exit;
    return exit === undefined ? [] : this.recover(exit);
  }

  /** Replaces a shell that ended. */
  async recover(exit: ShellExit): Promise<string[]> {
    this.restarts++;
    const { ready, notes } = await restart(
      {
        ...this.shellStart(),
        candidates: this.snapshots.candidates,
        directories: [this.cwd, this.options.cwd],
        exit,
        isCurrent: this.snapshots.upTo === this.lastNumber,
      },
      (process) => this.adopt(process),
    );
    this.flags = '';
    this.cwd = ready.cwd === '' ? this.cwd : ready.cwd;
    this.notes = notes;
    return notes;
  }

  send(lines: string): void {
    if (!this.channel.send(lines)) {
      throw failure.overloaded('The shell does not read what it is sent. Cancel what it runs, or destroy the session.');
    }
  }

  /** Signals the shell alone. */
  signal(signal: NodeJS.Signals): void {
    this.process?.signal(signal);
  }

  /** Takes a snapshot, unless the last one is still true. Only while no command runs. */
  async snapshot(): Promise<void> {
    if (!this.isAlive || this.snapshots.upTo === this.lastNumber) return;
    let timer: NodeJS.Timeout | undefined;
    const done = new Promise<void>((resolve) => {
      this.onSnapshot = resolve;
      timer = setTimeout(resolve, snapshotDeadlineMs);
    });
    this.channel.send(this.dialect.snapshot());
    await Promise.race([done, this.exited]);
    clearTimeout(timer);
  }

  dispose(): void {
    this.channel.dispose();
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
    this.process = process;
    this.since ??= process.identity?.startTime;
    void process.exited.then((exit) => {
      if (this.process !== process) return;
      // What the shell said before it ended counts.
      this.channel.drainRecords();
      this.listener.exited(exit);
    });
  }

  private onRecord([kind, number, value, cwd]: Record4): void {
    const { listener } = this;
    if (kind === 'D') {
      const [status = '', flags] = value.split(' ');
      if (flags !== undefined) this.flags = flags;
      listener.reported(Number(number), Number(status), cwd);
    } else if (kind === 'F') listener.unprepared(value);
    else if (kind === 'P') listener.backgroundStarted(Number(number), Number(value));
    else if (kind === 'E') listener.backgroundEnded(Number(number), Number(value));
    else if (kind === 'B') this.process?.reportReady({ restored: number, cwd });
    else if (kind === 'T') {
      if (number === '0') this.snapshots.complete(this.lastNumber);
      this.onSnapshot();
    }
  }
}
