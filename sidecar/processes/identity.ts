import { findProcess } from './process-table';

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

export function identify(pid: number): ProcessIdentity | undefined {
  const entry = findProcess(pid);
  return entry === undefined ? undefined : { pid, startTime: entry.startTime };
}

/** Whether both are the same process, and not one that has got the pid of the other. */
export function isSame(one: ProcessIdentity, other: Partial<ProcessIdentity>): boolean {
  return one.pid === other.pid && one.startTime === other.startTime;
}

/** Whether the process is still there and still running; a zombie has ended. */
export function isAlive(identity: ProcessIdentity): boolean {
  const entry = findProcess(identity.pid);
  return entry !== undefined && entry.startTime === identity.startTime && entry.state !== 'Z' && entry.state !== 'X';
}

/** Whether it may be: where the system does not tell about a process now, that it is there is enough. */
export function mayBeAlive(identity: ProcessIdentity): boolean {
  return findProcess(identity.pid) === undefined ? isThere(identity.pid) : isAlive(identity);
}

function isThere(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Signals exactly that process. Never a group, never init, never a process that merely inherited the pid. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (identity.pid <= 1 || identity.pid === process.pid || !isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}
