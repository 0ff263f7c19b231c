import { constants } from 'node:os';
import type { Command, Ending } from './command';
import type { ShellExit } from './shell-process';

const signalNames = new Map(
  // The first name of a number counts: SIGABRT, not SIGIOT.
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

export const neverStarted = 'It was never started.';

/** The signal a status stands for, by the shells' convention of 128 + number. */
export function signalOf(status: number): string | null {
  return status > 128 ? (signalNames.get(status - 128) ?? null) : null;
}

/** How a command ended that the shell reported on. */
export function reportedEnd(command: Command, status: number, cwd: string): Ending {
  const signal = signalOf(status);
  const outcome = command.ending ?? (signal === null ? 'exited' : 'signaled');
  return { outcome, exitCode: status, signal, cwd, notes: [] };
}

/** How a command ended that took the shell with it. */
export function shellExitedEnd(command: Command, exit: ShellExit, cwd: string, notes: string[]): Ending {
  if (command.ending === undefined)
    return { outcome: 'shell_exited', exitCode: exit.code, signal: exit.signal, cwd, notes };
  return { outcome: command.ending, exitCode: null, signal: null, cwd, notes };
}

/** How a command ended of whose end nobody was told. */
export function unknownEnd(command: Command, cwd: string, note: string): Ending {
  return { outcome: command.ending ?? 'signaled', exitCode: null, signal: null, cwd, notes: [note] };
}
