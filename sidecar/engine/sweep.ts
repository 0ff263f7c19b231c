import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { failure } from '../../protocol/errors';
import { commandIdVariable, killSessions, processesOfSession } from '../processes/command-processes';
import { identify, isAlive, type ProcessIdentity } from '../processes/identity';
import { environmentValue, openFiles } from '../processes/process-table';
import { readSavedSession, type SavedSession } from './saved-session';

const ownerFile = 'owner';
const nobody = 'nobody';
/** A directory without an owner is left alone for so long: its sidecar may be about to name itself. */
const unownedForMs = 10_000;

const mostBytes = 4096;
const mostAttempts = 20;

/** Marks a session directory as this process's. */
export function own(directory: string): void {
  self ??= identify(process.pid);
  if (self === undefined) throw failure.overloaded('The system does not tell about processes now. Try again.');
  writeFileSync(join(directory, ownerFile), JSON.stringify(self), { mode: 0o600 });
}

let self: ProcessIdentity | undefined;

/** Marks a session directory as left for another process. */
export function disown(directory: string): void {
  writeFileSync(join(directory, ownerFile), JSON.stringify(nobody), { mode: 0o600 });
}

/** A session of a sidecar that is gone, and that can be gone on with. */
export interface Orphan {
  sessionId: string;
  directory: string;
  saved: SavedSession;
}

/**
 * Looks through the session directories of sidecars that are gone. Sessions in which something still lives are the answer;
 * the others are removed, with what may still run in them, and counted.
 */
export async function sweep(root: string): Promise<{ orphans: Orphan[]; swept: number }> {
  const orphans: Orphan[] = [];
  const remains: string[] = [];
  for (const name of readdirSync(root)) {
    const directory = join(root, name);
    if (!isOrphaned(directory)) continue;
    const saved = isOwn(directory) ? livingSession(name, directory) : undefined;
    if (saved === undefined) remains.push(name);
    else orphans.push({ sessionId: name, directory, saved });
  }
  await Promise.all(remains.map((name) => remove(name, join(root, name))));
  return { orphans, swept: remains.length };
}

/**
 * Kills what runs in a session directory of nobody's, and removes it. What its sidecar was just starting can be seen only
 * once it has a file open there, and makes files until then: so both are done until nothing is left.
 */
async function remove(sessionId: string, directory: string): Promise<void> {
  const traces = { sessionId, directory, shell: undefined, since: undefined, keepers: [] };
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    await killSessions(() => [traces]);
    removeIfPossible(directory);
    if (!existsSync(directory) && processesOfSession(traces).length === 0) return;
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
  const stat = lstatSync(directory);
  return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
}

function isOrphaned(directory: string): boolean {
  try {
    const file = join(directory, ownerFile);
    if (statSync(file).size > mostBytes) throw new Error('no owner file is as long');
    const owner = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity | typeof nobody;
    return owner === nobody || !isAlive(owner);
  } catch {
    const found = statSync(directory, { throwIfNoEntry: false });
    return found !== undefined && Date.now() - found.mtimeMs > unownedForMs;
  }
}
