import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

interface ProcessStatus {
  pid: number;
  parent: number;
  state: string;
}

/** What the kernel knows about a process; undefined once it is gone. */
export function statusOf(pid: number): ProcessStatus | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, parent: Number(parent), state };
  } catch {
    return undefined;
  }
}

/** When it was started, in the kernel's own units: with the pid it tells a process from every other. */
export function startTimeOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** A process that is only waiting to be collected does not count as living. */
export const isAlive = (pid: number): boolean => !['Z', 'X', undefined].includes(statusOf(pid)?.state);

export function everyProcess(): ProcessStatus[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statusOf(Number(name)) ?? []);
}

/** Everything a user has in the table of processes, the dead that nobody has collected among it. */
export const processesOf = (uid: number): number[] =>
  everyProcess().flatMap(({ pid }) => (statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid ? [pid] : []));

export const childrenOf = (pid: number): number[] =>
  everyProcess()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid);

/** Dead children of this process that nobody has collected. */
export const zombies = (): number[] =>
  everyProcess()
    .filter(({ parent, state }) => parent === process.pid && state === 'Z')
    .map(({ pid }) => pid);

/** What this process has open, by what it points to; event-loop internals are left out. */
export function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd')
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return [];
      }
    })
    .filter((target) => !target.startsWith('anon_inode:'))
    .sort();
}

/** Living processes whose environment has a marker in it: finds what left its family by any road. */
export function processesMarked(marker: string): number[] {
  return everyProcess()
    .filter(({ pid, state }) => {
      if (state === 'Z') return false;
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(marker);
      } catch {
        return false;
      }
    })
    .map(({ pid }) => pid);
}

/** Living processes that have a file of a directory open. */
export function processesHolding(directory: string): number[] {
  const holds = (pid: number) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith(`${directory}/`);
        } catch {
          return false;
        }
      });
    } catch {
      return false;
    }
  };
  return everyProcess()
    .map(({ pid }) => pid)
    .filter((pid) => pid !== process.pid && isAlive(pid) && holds(pid));
}
