import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { failure } from '../../protocol/errors';
import { commandIdVariable, killSessions, processesOfSessions } from '../processes/command-processes';
import { identify, isAlive, mayBeAlive, type ProcessIdentity } from '../processes/identity';
import { environmentValue, openFiles } from '../processes/process-table';
import { readSavedSession, type SavedSession } from './saved-session';

const ownerFile = 'owner';
const nobody = 'nobody';
/** What is there instead of an owner's name may be somebody else's business; it is left alone for so long. */
const unownedForMs = 10_000;

const mostBytes = 4096;
const mostAttempts = 20;

/** Marks a session directory as this process's. */
export function own(directory: string): void {
  self ??= identify(process.pid);
  if (self === undefined) throw failure.overloaded('The system does not tell about processes now. Try again.');
  nameOwner(directory, self);
}

let self: ProcessIdentity | undefined;

/** Marks a session directory as left for another process. */
export function disown(directory: string): void {
  try {
    nameOwner(directory, nobody);
  } catch {
    // It is nobody's when this process is gone.
  }
}

/** In one step if possible: a session whose owner cannot be read would be nobody's to go on with. */
function nameOwner(directory: string, owner: ProcessIdentity | typeof nobody): void {
  const path = join(directory, ownerFile);
  const text = JSON.stringify(owner);
  try {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // On a full disk there is still the room of the one before.
    removeIfPossible(`${path}.new`);
    writeFileSync(path, text, { mode: 0o600 });
  }
}

/** The name of a directory that this process is about to make its own. */
export const spareName = (mark: number | string) => `spare-${process.pid}-${mark}`;

/** Nobody has made it his own, although its maker still may; other directories lose their owner only with all else. */
function isBeingMade(name: string): boolean {
  const [, pid] = /^spare-(\d+)-/.exec(name) ?? [];
  return pid !== undefined && identify(Number(pid)) !== undefined;
}

/** A session of a sidecar that is gone, and that can be gone on with. */
export interface Orphan {
  sessionId: string;
  directory: string;
  /** Its sidecar was killed; otherwise it was left in order. */
  isBereft: boolean;
  saved: SavedSession;
}

interface Remains {
  sessionId: string;
  directory: string;
}

export interface Swept {
  orphans: Orphan[];
  /** They may live, so they were left alone. */
  unread: { sessionId: string; error: unknown }[];
  /** How many were removed. */
  swept: number;
}

/**
 * Looks through the session directories of sidecars that are gone. Sessions in which something still lives are the answer;
 * the others are removed, with what may still run in them, and counted.
 */
export async function sweep(root: string): Promise<Swept> {
  const orphans: Orphan[] = [];
  const unread: Swept['unread'] = [];
  const remains: Remains[] = [];
  for (const name of readdirSync(root)) {
    const directory = join(root, name);
    const orphaned = orphanage(name, directory);
    if (orphaned === undefined) continue;
    try {
      const saved = isOwn(directory) ? livingSession(name, directory) : undefined;
      if (saved === undefined) remains.push({ sessionId: name, directory });
      else orphans.push({ sessionId: name, directory, isBereft: orphaned === 'bereft', saved });
    } catch (error) {
      // Its journal is there and cannot be read now: the next sidecar may have more luck.
      unread.push({ sessionId: name, error });
    }
  }
  await removeAll(remains);
  return { orphans, unread, swept: remains.length };
}

/**
 * Kills what runs in session directories of nobody's, and removes them. What a sidecar was just starting can be seen only
 * once it has a file open there, and makes files until then: so both are done until nothing is left. For all together, since
 * each look for processes is a look at every process of the machine.
 */
async function removeAll(remains: readonly Remains[]): Promise<void> {
  const traces = remains.map((one) => ({ ...one, shell: undefined, since: undefined, keepers: [] }));
  for (let attempt = 1; attempt <= mostAttempts && traces.length > 0; attempt++) {
    await killSessions(() => traces);
    for (const { directory } of traces) removeIfPossible(directory);
    const isGone = traces.every(({ directory }) => !existsSync(directory));
    if (isGone && processesOfSessions(traces).length === 0) return;
    await pause(attempt);
  }
}

/** What cannot be removed now is swept by the next sidecar. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // A read-only file system, for one.
  }
}

/** What was saved of a session of which at least one process lives; without any, the machine was started anew. */
function livingSession(sessionId: string, directory: string): SavedSession | undefined {
  const saved = readSavedSession(join(directory, 'journal'));
  if (saved === undefined) return undefined;
  const { condition } = saved;
  condition.keepers = condition.keepers.filter((keeper) => isAlive(keeper) && holds(keeper, directory));
  const { shell } = condition;
  if (shell !== undefined && isAlive(shell)) {
    const isItsShell =
      holds(shell, directory) ||
      environmentValue(shell.pid, commandIdVariable)?.startsWith(`${sessionId}:`) ||
      process.platform !== 'linux';
    // Another process with the same pid and, after a restart of the machine, even the same start time.
    if (!isItsShell) condition.shell = undefined;
  }
  const isShellAlive = condition.shell !== undefined && isAlive(condition.shell);
  return isShellAlive || condition.keepers.length > 0 ? saved : undefined;
}

function holds({ pid }: ProcessIdentity, directory: string): boolean {
  return process.platform !== 'linux' || openFiles(pid).some((path) => path.startsWith(`${directory}/`));
}

/** Whatever another user could have put there is not gone on with. */
function isOwn(directory: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
}

/** Whether nobody has a session directory any more, because its sidecar is gone or has left it to the next. */
function orphanage(name: string, directory: string): 'bereft' | 'left' | undefined {
  try {
    const file = join(directory, ownerFile);
    if (statSync(file).size > mostBytes) throw new Error('no owner file is as long');
    const owner = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity | typeof nobody;
    if (owner === nobody) return 'left';
    return mayBeAlive(owner) ? undefined : 'bereft';
  } catch (error) {
    const found = statSync(directory, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    const isUnnamed = (error as NodeJS.ErrnoException).code === 'ENOENT' && isOwn(directory);
    const isNobodys = (isUnnamed && !isBeingMade(name)) || Date.now() - found.mtimeMs > unownedForMs;
    return isNobodys ? 'bereft' : undefined;
  }
}
