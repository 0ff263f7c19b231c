import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { failure } from '../../protocol/errors';
import { reach } from '../checkpoints';
import { identify, mayBeAlive, type ProcessIdentity, signalProcess } from '../processes/identity';
import type { Profile } from '../shells/dialect';
import type { Shell } from '../shells/find-shells';
import { describeTrouble } from '../system-failure';
import type { Channel } from './channel';
import type { SessionDirectory } from './session-directory';
import { notedExit } from './status-file';

const startDeadlineMs = 10_000;
/** A user's rc file gets less: then the shell starts without it. */
const profileDeadlineMs = 5000;
const adoptedLookMs = 50;

const tooLarge = failure.invalidParams(
  'env is larger than the system lets a program have. Make it smaller: on Linux a single value may have 128 KiB.',
);

export interface ShellStart {
  shell: Shell;
  profile: Profile;
  sessionId: string;
  directory: SessionDirectory;
  channel: Channel;
  cwd: string;
  env: Record<string, string>;
  nextNumber: number;
  restoreFile: string | undefined;
}

export interface ShellExit {
  code: number | null;
  signal: string | null;
}

/** What the shell said when it was ready. */
export interface ShellReady {
  restored: string;
  cwd: string;
}

/** One run of a session's shell. */
export class ShellProcess {
  exit: ShellExit | undefined;
  readonly exited: Promise<ShellExit>;
  /** Why it could not be started at all. */
  private failed: Error | undefined;
  private onReady: (ready: ShellReady) => void = () => {};

  private constructor(
    readonly identity: ProcessIdentity | undefined,
    exited: Promise<ShellExit>,
  ) {
    this.exited = exited.then((exit) => {
      this.exit = exit;
      return exit;
    });
  }

  /** Starts the shell and waits until it is ready for its first command. */
  static async start(start: ShellStart, onSpawn: (shell: ShellProcess) => void): Promise<ShellReady> {
    const { shell, profile, directory, channel, sessionId } = start;
    const bootFile = directory.write(
      'boot',
      shell.dialect.boot(
        {
          directory: directory.path,
          control: directory.file('ctl'),
          snapshot: directory.file('snapshot'),
          status: directory.file('status'),
        },
        sessionId,
        profile,
      ),
    );
    const bootLog = openSync(directory.file('boot.log'), 'w', 0o600);
    let child: ChildProcess;
    try {
      child = spawn(shell.path, shell.dialect.arguments(bootFile, profile), {
        cwd: start.cwd,
        env: start.env,
        stdio: [channel.shellInput, bootLog, bootLog],
        detached: true,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'E2BIG') throw tooLarge;
      throw error;
    } finally {
      closeSync(bootLog);
    }
    const process = new ShellProcess(child.pid === undefined ? undefined : identify(child.pid), exitOf(child));
    child.once('error', (error) => {
      process.failed = error;
    });
    child.unref();
    reach('shell-spawned');
    onSpawn(process);
    channel.send(shell.dialect.ready(start.nextNumber, start.restoreFile, bootFile));
    return process.ready(profile === 'user' ? profileDeadlineMs : startDeadlineMs, directory);
  }

  /** A shell that another sidecar started. It is nobody's child here, so it has to be looked at to see that it ended. */
  static adopt(
    identity: ProcessIdentity | undefined,
    directory: SessionDirectory,
    ended: ShellExit | undefined,
  ): ShellProcess {
    if (identity === undefined || ended !== undefined) {
      const { code = null, signal = null } = ended ?? {};
      return new ShellProcess(identity, Promise.resolve({ code, signal }));
    }
    return new ShellProcess(identity, exitOfAdopted(identity, directory.file('status')));
  }

  get pid(): number | undefined {
    return this.identity?.pid;
  }

  get isAlive(): boolean {
    return this.exit === undefined;
  }

  reportReady(ready: ShellReady): void {
    this.onReady(ready);
  }

  /** Signals the shell alone. */
  signal(signal: NodeJS.Signals): void {
    if (this.isAlive && this.identity !== undefined) signalProcess(this.identity, signal);
  }

  private async ready(deadlineMs: number, directory: SessionDirectory): Promise<ShellReady> {
    const reported = new Promise<ShellReady>((resolve) => {
      this.onReady = resolve;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), deadlineMs);
    });
    const outcome = await Promise.race([reported, late, this.exited.then(() => 'exited' as const)]);
    clearTimeout(timer);
    if (typeof outcome === 'object') return outcome;
    this.signal('SIGKILL');
    const said = describeTrouble(this.failed) ?? lastLines(directory.file('boot.log'));
    const what = outcome === 'late' ? `was not ready after ${deadlineMs / 1000} s` : 'ended while it started';
    throw failure.shellStartFailed(`The shell ${what}.${said === '' ? '' : ` Why: ${said}`}`);
  }
}

function exitOf(child: ChildProcess): Promise<ShellExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
}

/** Shells that end by themselves note their status; of the others only the parent is told. */
function exitOfAdopted(identity: ProcessIdentity, statusFile: string): Promise<ShellExit> {
  return new Promise((resolve) => {
    const look = () => {
      if (mayBeAlive(identity)) return;
      clearInterval(timer);
      resolve({ code: notedExit(statusFile, identity.pid), signal: null });
    };
    const timer = setInterval(look, adoptedLookMs);
    timer.unref();
    look();
  });
}

function lastLines(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').slice(-3).join(' / ').slice(0, 500);
  } catch {
    return '';
  }
}
