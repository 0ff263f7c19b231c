import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SignalName } from '../../protocol/values';
import type { CommandTraces } from '../processes/command-processes';
import { identify, type ProcessIdentity, signalProcess } from '../processes/identity';
import { climb, ladderFrom } from '../processes/kill-ladder';
import { asStartTime, childrenOf, findProcess } from '../processes/process-table';
import type { Command } from './command';
import type { ShellHost } from './shell-host';

const interruptGraceMs = 1000;
const reportGraceMs = 1000;
/** A signal to stop takes effect soon, not at once. */
const stopMs = 5;
/** A command may itself have sent its stderr to where the shell's goes. */
const patientLooks = 5;

/** What a command's processes are known by. `others` are the subshells of background commands. */
export function tracesOf(
  command: Command,
  root: number,
  others: readonly number[],
  since: string | undefined,
): CommandTraces {
  return {
    commandId: command.id,
    fifos: command.slot?.paths ?? [],
    root,
    others,
    since,
    startedAt: command.isFinished ? undefined : asStartTime(command.startedMonotonic),
  };
}

/** Ends a background command with all its processes. Shells make such commands ignore an interrupt, so TERM comes first. */
export async function endBackground(
  command: Command,
  signal: SignalName | undefined,
  processes: () => ProcessIdentity[],
): Promise<void> {
  await endProcesses(signal ?? 'SIGTERM', processes);
  await pauseUntil(command.finished, reportGraceMs);
}

export interface ForegroundInterruption {
  shell: ShellHost;
  processes: () => ProcessIdentity[];
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
  { shell, processes, reportAgain }: ForegroundInterruption,
): Promise<void> {
  const ended = () => command.isFinished;
  const pause = (ms: number) => pauseUntil(command.finished, ms);
  if (signal === undefined || signal === 'SIGINT') {
    const { hold, release } = holding(shell, reportAgain);
    const rungs = [{ signal: 'SIGINT' as const, graceMs: interruptGraceMs }];
    // What it had started in the background is its own too, and ignores interrupts.
    if (await climb({ rungs, processes, ended, pause, hold, release })) return endProcesses('SIGTERM', processes);
  }
  shell.signal('SIGSTOP');
  await endProcesses(signal === undefined || signal === 'SIGINT' ? 'SIGTERM' : signal, processes);
  if (!shell.isAlive) return pause(reportGraceMs);
  shell.signal(shell.dialect.abandonSignal);
  shell.signal('SIGCONT');
  reportAgain();
  await pause(reportGraceMs);
  if (ended()) return;
  shell.signal('SIGKILL');
  await pause(reportGraceMs);
}

/**
 * Stops the shell and its children while the command's processes are looked for: a short-lived child would be gone when it is
 * found. Meanwhile the shell gets its signals, so that it knows before any of them can end.
 */
function holding(shell: ShellHost, reportAgain: () => void): { hold: () => void; release: () => void } {
  let held: ProcessIdentity[] = [];
  let looks = 0;
  return {
    hold() {
      shell.signal('SIGSTOP');
      held = (shell.pid === undefined ? [] : childrenOf(shell.pid)).flatMap((pid) => identify(pid) ?? []);
      for (const child of held) signalProcess(child, 'SIGSTOP');
      if (!isInCommand(shell.pid) && ++looks <= patientLooks) return;
      shell.signal('SIGINT');
      shell.signal(shell.dialect.abandonSignal);
    },
    release() {
      for (const child of held) signalProcess(child, 'SIGCONT');
      shell.signal('SIGCONT');
      reportAgain();
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
    return readlinkSync(`/proc/${pid}/fd/2`) !== '/dev/null';
  } catch {
    return true;
  }
}

async function endProcesses(from: SignalName, processes: () => ProcessIdentity[]): Promise<void> {
  await climb({ rungs: ladderFrom(from), processes, ended: () => processes().length === 0, pause: sleep });
}

async function pauseUntil(done: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, elapsed]);
  clearTimeout(timer);
}
