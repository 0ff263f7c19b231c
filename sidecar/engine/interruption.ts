import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SignalName } from '../../protocol/values';
import { reach } from '../checkpoints';
import { identify, type ProcessIdentity, signalProcess } from '../processes/identity';
import { climb, ladderFrom } from '../processes/kill-ladder';
import { childrenOf, findProcess, programOf } from '../processes/process-table';
import { nowhere } from '../shells/dialect';
import type { Command } from './command';
import { QuietInterrupt } from './quiet-interrupt';
import type { ShellHost } from './shell-host';

const interruptGraceMs = 1000;
const reportGraceMs = 1000;
/** For what an interrupted shell does yet, such as a trap, before it is tried again; in the end the shell is replaced. */
const trapGracesMs = [400, 300, 300];
const startGraceMs = 2000;
const againMs = 20;
/** A signal to stop takes effect soon, not at once. */
const stopMs = 5;
/** A command may itself have sent its stderr to where the shell's goes. */
const patientLooks = 5;

/** Ends a background command with all its processes. Shells make such commands ignore an interrupt, so TERM comes first. */
export async function endBackground(
  command: Command,
  signal: SignalName | undefined,
  processes: () => ProcessIdentity[],
): Promise<void> {
  // The shell may have been given it only just now: there is nobody to signal before there is a subshell.
  if (command.subshell === undefined) await pauseUntil(Promise.race([command.started, command.finished]), startGraceMs);
  // A subshell that was just forked has nobody to signal yet, and in a moment it has.
  const deadline = performance.now() + reportGraceMs;
  do {
    await endProcesses(signal ?? 'SIGTERM', processes, command.subshell);
    await pauseUntil(command.finished, againMs);
  } while (!command.isFinished && command.error === undefined && performance.now() < deadline);
}

export interface ForegroundInterruption {
  shell: ShellHost;
  processes: () => ProcessIdentity[];
  /** Whether the shell has ended the command, or itself: then there is nothing in it to interrupt, whatever it does now. */
  isPast: () => boolean;
  /** Sends the reporting line once more, in case a signal swallowed it. */
  reportAgain: () => void;
}

/**
 * Ends a foreground command and nothing else. An interrupt to its processes and to the shell ends it as Ctrl-C would. A
 * command that ignores that has its processes ended while the shell is stopped, or the shell would go on to what comes after
 * them. A shell that cannot be made to leave that out, or that ignores interrupts itself, is replaced.
 */
export async function endForeground(
  command: Command,
  signal: SignalName | undefined,
  interruption: ForegroundInterruption,
): Promise<void> {
  const shell = new HeldShell(interruption.shell);
  try {
    await endIn(shell, command, signal, interruption);
  } catch (error) {
    // It may have been stopped, and nobody else would continue it.
    shell.signal('SIGCONT');
    throw error;
  } finally {
    shell.dispose();
  }
}

async function endIn(
  shell: HeldShell,
  command: Command,
  signal: SignalName | undefined,
  { shell: host, processes, isPast, reportAgain }: ForegroundInterruption,
): Promise<void> {
  const ended = () => command.error !== undefined || shell.isGone || isPast();
  const pause = (ms: number) => pauseUntil(Promise.race([command.finished, shell.gone]), ms);
  const endTheRest = async (from: SignalName) => {
    await endProcesses(from, processes, shell.identity);
    return command.finished;
  };
  if (isPast()) return endTheRest(signal ?? 'SIGTERM');
  if (signal === undefined || signal === 'SIGINT') {
    const endsLine = host.dialect.endsLineOnInterrupt && host.pid !== undefined;
    const quiet = endsLine ? new QuietInterrupt(command, host.pid) : undefined;
    const { hold, release } = holding(shell, isPast, reportAgain, quiet);
    const rungs = [{ signal: 'SIGINT' as const, graceMs: interruptGraceMs }];
    const signalFor = quiet && ((identity: ProcessIdentity) => quiet.signalFor(identity));
    if (await climb({ rungs, processes, ended, pause, hold, release, signalFor })) {
      // It may have been reported by a program while the shell was still held.
      shell.signal('SIGCONT');
      // What it had started in the background is its own too, and ignores interrupts.
      return endTheRest('SIGTERM');
    }
  }
  const from = signal === undefined || signal === 'SIGINT' ? 'SIGTERM' : signal;
  for (const [round, graceMs] of trapGracesMs.entries()) {
    shell.signal('SIGSTOP');
    await endProcesses(from, processes, undefined, host.pid);
    if (!ended()) leaveOutTheRest(shell, round);
    shell.signal('SIGCONT');
    if (!ended()) reportAgain();
    await pause(graceMs);
    if (ended()) break;
  }
  if (!ended()) shell.signal('SIGKILL');
  await pauseUntil(Promise.race([command.finished, shell.gone]), reportGraceMs);
  // Then it is over as soon as another shell has taken its place.
  if (shell.isGone && !host.isLeft) await command.finished;
}

/**
 * A shell that is just between two processes may miss it and go on with the command, so it is told again. By the last round it
 * has long come to the command, wherever that sends its stderr.
 */
function leaveOutTheRest(shell: HeldShell, round: number): void {
  const isLast = round === trapGracesMs.length - 1;
  if (round === 0) shell.abandon();
  else if (isLast || isInCommand(shell.identity?.pid)) shell.interrupt();
}

/** The shell a command runs in. The one that takes its place when it ends is never signalled for that command's sake. */
class HeldShell {
  readonly identity: ProcessIdentity | undefined;
  readonly gone: Promise<void>;
  private forget: () => void = () => {};

  constructor(private readonly host: ShellHost) {
    this.identity = host.identity;
    this.gone = new Promise((resolve) => {
      this.forget = host.onGone(resolve);
    });
  }

  dispose(): void {
    this.forget();
  }

  get isGone(): boolean {
    return this.host.isLeft || !this.host.isAlive || this.host.identity !== this.identity;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isGone) this.host.signal(signal);
  }

  /** Makes it leave out the rest of the command after a child of it was killed. */
  abandon(): void {
    this.signal(this.host.dialect.abandonSignal);
  }

  /** As that, also in the middle of a builtin. */
  interrupt(): void {
    this.signal('SIGINT');
    this.abandon();
  }
}

/**
 * Stops the shell and its children while the command's processes are looked for: a short-lived child would be gone when it is
 * found. Meanwhile the shell gets its signals, so that it knows before any of them can end.
 */
function holding(
  shell: HeldShell,
  isPast: () => boolean,
  reportAgain: () => void,
  quiet: QuietInterrupt | undefined,
): { hold: () => void; release: () => void } {
  let held: ProcessIdentity[] = [];
  let looks = 0;
  return {
    hold() {
      const pid = shell.isGone ? undefined : shell.identity?.pid;
      shell.signal('SIGSTOP');
      // What somebody else has stopped, a job of an earlier command for one, stays stopped.
      const going = (pid === undefined ? [] : childrenOf(pid)).filter((child) => findProcess(child)?.state !== 'T');
      held = going.flatMap((child) => identify(child) ?? []);
      for (const child of held) signalProcess(child, 'SIGSTOP');
      reach('interrupt-held');
      if (isPast() || (!isInCommand(pid) && ++looks <= patientLooks)) return;
      shell.interrupt();
    },
    release() {
      for (const child of held) signalProcess(child, 'SIGCONT');
      if (quiet?.mustWait) return;
      shell.signal('SIGCONT');
      if (!shell.isGone) reportAgain();
    },
  };
}

/**
 * Whether a stopped shell is inside a command. stderr is redirected last and put back first; an interrupt while the others
 * are being put back would leave the shell without its input.
 */
function isInCommand(pid: number | undefined): boolean {
  if (pid === undefined || process.platform !== 'linux') return true;
  const deadline = performance.now() + stopMs;
  while (findProcess(pid)?.state !== 'T' && performance.now() < deadline);
  try {
    return readlinkSync(`/proc/${pid}/fd/2`) !== nowhere;
  } catch {
    return true;
  }
}

/**
 * With the signals from this one on. `parent` is held while they are signalled together, which stops them for a moment: a zsh
 * that sees its child stopped goes round in circles from then on.
 */
async function endProcesses(
  from: SignalName,
  processes: () => ProcessIdentity[],
  parent?: ProcessIdentity,
  shell?: number,
): Promise<void> {
  const signalParent = (signal: NodeJS.Signals) => () => {
    if (parent !== undefined) signalProcess(parent, signal);
  };
  await climb({
    rungs: ladderFrom(from),
    processes,
    ended: () => processes().length === 0,
    pause: sleep,
    hold: signalParent('SIGSTOP'),
    release: signalParent('SIGCONT'),
    signalFor: ({ pid }, signal) => (signal === 'SIGHUP' && isForkOf(shell, pid) ? 'SIGTERM' : signal),
  });
}

/** bash hands a hang-up on from `$(…)` to all that the shell has started, and to the shell. */
const isForkOf = (shell: number | undefined, pid: number) => shell !== undefined && programOf(pid) === programOf(shell);

async function pauseUntil(done: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, elapsed]);
  clearTimeout(timer);
}
