import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity, signalProcess } from './identity';
import { findProcess, programOf } from './process-table';

export interface Rung {
  signal: NodeJS.Signals;
  graceMs: number;
}

/** What a command is given to end by itself before the next, stronger signal. */
export const ladder: readonly Rung[] = [
  { signal: 'SIGINT', graceMs: 1000 },
  { signal: 'SIGTERM', graceMs: 1000 },
  { signal: 'SIGKILL', graceMs: 1000 },
];

/** The ladder from a signal on; one that is not a rung of it comes first, with the first rung's grace. */
export function ladderFrom(signal: NodeJS.Signals | undefined): readonly Rung[] {
  if (signal === undefined) return ladder;
  const at = ladder.findIndex((rung) => rung.signal === signal);
  return at >= 0 ? ladder.slice(at) : [{ signal, graceMs: 1000 }, ...ladder.slice(1)];
}

export interface Climb {
  rungs: readonly Rung[];
  /** Computed anew for every look: a command may start processes while it is being ended. */
  processes: () => ProcessIdentity[];
  /** Whether what was to end has ended. */
  ended: () => boolean;
  /** Resolves when `ended` may have become true, and after `ms` at the latest. */
  pause: (ms: number) => Promise<unknown>;
  /** Around every look: what starts the processes is held meanwhile. */
  hold?: () => void;
  release?: () => void;
  /** The signal a process is to get in place of a rung's. */
  signalFor?: ((identity: ProcessIdentity, signal: NodeJS.Signals) => NodeJS.Signals) | undefined;
}

/**
 * Climbs until it has ended; each process gets each signal once. Answers whether it ended. One that has become another program
 * gets it again: a child that was just forked handles signals as the shell does, which may mean not at all.
 */
export async function climb({ rungs, processes, ended, pause, hold, release, signalFor }: Climb): Promise<boolean> {
  for (const { signal, graceMs } of rungs) {
    const deadline = performance.now() + graceMs;
    const signalled = new Set<string>();
    for (let wait = 5; !ended(); wait = Math.min(wait * 2, 100)) {
      try {
        hold?.();
        const known = ({ pid, startTime }: ProcessIdentity) => `${pid}/${startTime}/${programOf(pid)}`;
        const fresh = processes().filter((identity) => !signalled.has(known(identity)));
        for (const identity of fresh) signalled.add(known(identity));
        signalTogether(fresh, (identity) => signalFor?.(identity, signal) ?? signal);
      } finally {
        release?.();
      }
      const left = deadline - performance.now();
      if (left <= 0) break;
      await pause(Math.min(wait, left));
    }
    if (ended()) return true;
  }
  return ended();
}

/**
 * As a terminal would: all of them have the signal before any of them can act on it. One by one, the end of a pipeline
 * would see the end of its input, and a shell the end of its child, and say so or go on to the next command.
 */
function signalTogether(
  identities: readonly ProcessIdentity[],
  signal: (identity: ProcessIdentity) => NodeJS.Signals,
): void {
  const isHeld = identities.length > 1;
  // A parent is stopped before its children and goes on after them: a zsh that sees a child stopped goes round in circles.
  const parentsFirst = isHeld ? [...identities].sort(byAge) : identities;
  if (isHeld) for (const identity of parentsFirst) signalProcess(identity, 'SIGSTOP');
  for (const identity of identities) signalProcess(identity, signal(identity));
  // One that was stopped before heeds nothing until it goes on.
  const isStopped = ({ pid }: ProcessIdentity) => findProcess(pid)?.state === 'T';
  if (isHeld || identities.some(isStopped)) {
    for (const identity of parentsFirst.toReversed()) signalProcess(identity, 'SIGCONT');
  }
}

const byAge = (one: ProcessIdentity, other: ProcessIdentity) =>
  Number(one.startTime) - Number(other.startTime) || one.pid - other.pid;

const killDeadlineMs = 3000;
/** A process that is forked while the others are looked through, by one that ends meanwhile, is not among them. */
const cleanLooks = 2;

/**
 * Kills processes and everything they start meanwhile, and answers with those that would not die. They are stopped first,
 * until there is none left that is not: a child that was forked but has not yet become its own program can only be found
 * by its parent, and must not be left without one. While `mayMiss` says so, finding none does not mean that there is none.
 */
export async function killAll(find: () => ProcessIdentity[], mayMiss: () => boolean): Promise<ProcessIdentity[]> {
  const deadline = performance.now() + killDeadlineMs;
  let dying: ProcessIdentity[] = [];
  let clean = 0;
  for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
    // One that is dying has no environment and no files any more to be found by, but it is not gone yet.
    dying = [...dying, ...killOnce(find)].filter(isAlive);
    clean = dying.length === 0 && !mayMiss() ? clean + 1 : 0;
    if (clean === cleanLooks || performance.now() > deadline) return dying;
    await sleep(wait);
  }
}

/** Waits a moment for children that were killed to leave the table: we have yet to hear of it. Others' are not ours to collect. */
export async function collected(killed: readonly ProcessIdentity[], withinMs = 1000): Promise<void> {
  const deadline = performance.now() + withinMs;
  const isOurs = ({ pid, startTime }: ProcessIdentity) => {
    const entry = findProcess(pid);
    return entry?.startTime === startTime && entry.parent === process.pid;
  };
  while (killed.some(isOurs) && performance.now() < deadline) await sleep(1);
}

/** Kills them all at once, without waiting for them to be gone. */
export function killOnce(find: () => ProcessIdentity[]): ProcessIdentity[] {
  const found = freeze(find);
  for (const identity of found) signalProcess(identity, 'SIGKILL');
  return found;
}

function freeze(find: () => ProcessIdentity[]): ProcessIdentity[] {
  const stopped = new Set<string>();
  for (;;) {
    const found = find();
    const fresh = found.filter(({ pid, startTime }) => !stopped.has(`${pid}/${startTime}`));
    if (fresh.length === 0) return found;
    for (const identity of fresh) {
      stopped.add(`${identity.pid}/${identity.startTime}`);
      signalProcess(identity, 'SIGSTOP');
    }
  }
}
