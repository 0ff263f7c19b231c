import { setTimeout as sleep } from 'node:timers/promises';
import type { SignalName } from '../../protocol/values';
import type { CommandTraces } from '../processes/command-processes';
import type { ProcessIdentity } from '../processes/identity';
import { climb, ladderFrom } from '../processes/kill-ladder';
import { asStartTime } from '../processes/process-table';
import type { Command } from './command';
import type { ShellHost } from './shell-host';

const interruptGraceMs = 1000;
const reportGraceMs = 1000;
/** How long the shell is kept from going on to the rest of a command whose processes were killed. */
const barrageMs = 3;

/** What a command's processes are known by. `others` are the subshells of background commands. */
export function tracesOf(command: Command, root: number, others: readonly number[] = []): CommandTraces {
  return {
    commandId: command.id,
    fifos: command.slot?.paths ?? [],
    root,
    others,
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
 * them. Only a shell that ignores interrupts itself is replaced.
 */
export async function endForeground(
  command: Command,
  signal: SignalName | undefined,
  { shell, processes, reportAgain }: ForegroundInterruption,
): Promise<void> {
  const ended = () => command.isFinished;
  const pause = (ms: number) => pauseUntil(command.finished, ms);
  if (signal === undefined || signal === 'SIGINT') {
    // The shell first: it must know of the interrupt when its child ends.
    shell.signal('SIGINT');
    reportAgain();
    const rungs = [{ signal: 'SIGINT' as const, graceMs: interruptGraceMs }];
    // What it had started in the background is its own too, and ignores interrupts.
    if (await climb({ rungs, processes, ended, pause })) return endProcesses('SIGTERM', processes);
  }
  shell.signal('SIGSTOP');
  await endProcesses(signal === undefined || signal === 'SIGINT' ? 'SIGTERM' : signal, processes);
  if (!shell.isAlive) return pause(reportGraceMs);
  shell.signal('SIGINT');
  shell.signal('SIGCONT');
  barrage(shell);
  reportAgain();
  await pause(reportGraceMs);
  if (ended()) return;
  shell.signal('SIGKILL');
  await pause(reportGraceMs);
}

async function endProcesses(from: SignalName, processes: () => ProcessIdentity[]): Promise<void> {
  await climb({ rungs: ladderFrom(from), processes, ended: () => processes().length === 0, pause: sleep });
}

/** An interrupt while the shell still waits for its child is lost, so it gets one after the other until it is past that. */
function barrage(shell: ShellHost): void {
  const until = performance.now() + barrageMs;
  while (shell.isAlive && performance.now() < until) shell.signalUnchecked('SIGINT');
}

async function pauseUntil(done: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, elapsed]);
  clearTimeout(timer);
}
