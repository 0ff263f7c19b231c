import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, isSame, type ProcessIdentity } from './identity';
import { killAll } from './kill-ladder';
import {
  commandLine,
  environmentValue,
  isBecoming,
  leadsSession,
  listProcesses,
  openFiles,
  type ProcessEntry,
  standardInputOf,
} from './process-table';

/** Exported to every command, so that its processes can be told from those of any other, wherever they went. */
export const commandIdVariable = 'LIMPET_COMMAND_ID';

export interface CommandTraces {
  commandId: string;
  /** The FIFOs that are its stdout and stderr. */
  fifos: readonly string[];
  /** The shell, for a foreground command; the subshell that reports, for a background one. It is not the command's. */
  root: ProcessIdentity;
  /** Processes that are known to be somebody else's: other commands' subshells, what keeps the FIFOs. */
  others: readonly ProcessIdentity[];
  /** The session's: see there. */
  since: string | undefined;
  /** When the command began, in the units of a process's start time; nothing once the root runs another. */
  startedAt: number | undefined;
}

/**
 * The processes of one command and no others: they carry its id, hold its output open, or descend from its root and are
 * younger than the command (a subshell that never ran a program has no environment of its own to tell it by).
 */
export function processesOfCommand(traces: CommandTraces): ProcessIdentity[] {
  const table = withoutOwners(living(traces.since), new Set(traces.fifos.map(dirname)));
  // Gone, it is nobody's parent any more, and its pid may be another program's by now.
  const root = table.find((entry) => isSame(entry, traces.root))?.pid;
  const own = new Set<number>();
  for (const entry of table) {
    if (entry.pid === root || traces.others.some((other) => isSame(entry, other))) continue;
    const carried = environmentValue(entry.pid, commandIdVariable);
    if (carried === traces.commandId || holds(entry.pid, traces.fifos)) own.add(entry.pid);
    else if (
      entry.parent === root &&
      traces.startedAt !== undefined &&
      isYounger(entry, traces.startedAt) &&
      (carried === undefined || sessionOf(carried) !== sessionOf(traces.commandId))
    ) {
      own.add(entry.pid);
    }
  }
  return select(table, withDescendants(table, own, root));
}

export interface SessionTraces {
  sessionId: string;
  directory: string;
  shell: ProcessIdentity | undefined;
  /** The start time of the session's first shell. Whatever is older is none of its business, which saves a closer look. */
  since: string | undefined;
  /** What holds its FIFOs open, and may be older than its shell. */
  keepers: readonly ProcessIdentity[];
}

/** Everything that belongs to a session: its shell's descendants and whatever carries one of its ids or holds its FIFOs. */
export function processesOfSession(traces: SessionTraces): ProcessIdentity[] {
  return processesOfSessions([traces]);
}

/** Everything that belongs to any of the sessions, in one look: a look at every process takes its time. */
export function processesOfSessions(sessions: readonly SessionTraces[]): ProcessIdentity[] {
  const ids = new Set(sessions.map(({ sessionId }) => sessionId));
  const shells = sessions.flatMap(({ shell }) => shell ?? []);
  const directories = new Set(sessions.map(({ directory }) => directory));
  const table = withoutOwners(living(oldestOf(sessions)), directories);
  const own = new Set<number>();
  for (const entry of table) {
    const { pid } = entry;
    const carried = environmentValue(pid, commandIdVariable);
    // Looking at a process's files takes longest, and one that says whose it is needs no such look.
    const isOwn =
      shells.some((shell) => isSame(entry, shell)) ||
      (carried === undefined
        ? openFiles(pid).some((path) => directories.has(dirname(path)))
        : ids.has(sessionOf(carried)));
    if (isOwn) own.add(pid);
  }
  const found = select(table, withDescendants(table, own, undefined));
  const keepers = sessions.flatMap((session) => session.keepers).filter(({ pid }) => !own.has(pid));
  return [...found, ...keepers.filter(isAlive)];
}

/**
 * Kills everything that belongs to any of the sessions; answers with what would not die. What is just becoming another program
 * carries no id and holds no file for a moment: if its parent is gone, nothing tells whose it is until it has.
 */
export function killSessions(sessions: () => readonly SessionTraces[]): Promise<ProcessIdentity[]> {
  return killAll(
    () => processesOfSessions(sessions()),
    () => living(oldestOf(sessions())).some(({ pid }) => isBecoming(pid)),
  );
}

const sessionOf = (commandId: string) => commandId.slice(0, commandId.lastIndexOf(':'));

/** Nothing if one of them does not know, or if start times cannot be compared. */
function oldestOf(sessions: readonly SessionTraces[]): string | undefined {
  const oldest = Math.min(...sessions.map(({ since }) => Number(since ?? 0)));
  return Number.isFinite(oldest) ? String(oldest) : undefined;
}

/**
 * The shells that read their lines from a FIFO. While one reads a file, or runs a command, its standard input is another and it
 * has the FIFO aside, as have those it forks then; but those lead no session.
 */
export function shellsReading(fifo: string): ProcessIdentity[] {
  return living(undefined)
    .filter(({ pid }) => standardInputOf(pid) === fifo || (leadsSession(pid) && openFiles(pid).includes(fifo)))
    .map(({ pid, startTime }) => ({ pid, startTime }));
}

/** Who keeps a command's output open after it ended. */
export function holdersOf(
  fifos: readonly string[],
  { except, since }: { except: readonly (ProcessIdentity | undefined)[]; since: string | undefined },
): { pid: number; command: string }[] {
  return living(since)
    .filter((entry) => !except.some((one) => one !== undefined && isSame(entry, one)) && holds(entry.pid, fifos))
    .map((entry) => ({ pid: entry.pid, command: commandLine(entry.pid) }));
}

function living(since: string | undefined): ProcessEntry[] {
  const oldest = Number(since ?? 0);
  return listProcesses().filter(
    (entry) => entry.pid !== process.pid && entry.state !== 'Z' && isYounger(entry, oldest),
  );
}

/** Whoever a session's directory belongs to holds its files too, and must never be taken for one of its processes. */
function withoutOwners(table: ProcessEntry[], directories: Iterable<string>): ProcessEntry[] {
  const owners = [...directories].map(ownerOf);
  return table.filter((entry) => !owners.some((owner) => owner !== undefined && isSame(entry, owner)));
}

function ownerOf(directory: string): Partial<ProcessIdentity> | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'owner'), 'utf8').slice(0, 1000)) ?? undefined;
  } catch {
    return undefined;
  }
}

function holds(pid: number, fifos: readonly string[]): boolean {
  return openFiles(pid).some((path) => fifos.includes(path));
}

/** Start times that are not numbers cannot be compared; then a child of the shell counts as the command's. */
function isYounger(entry: ProcessEntry, startedAt: number): boolean {
  return !(Number(entry.startTime) < startedAt);
}

function withDescendants(table: ProcessEntry[], roots: Set<number>, except: number | undefined): Set<number> {
  const all = new Set(roots);
  for (let size = -1; size !== all.size; ) {
    size = all.size;
    for (const entry of table) if (all.has(entry.parent) && entry.pid !== except) all.add(entry.pid);
  }
  return all;
}

function select(table: ProcessEntry[], pids: Set<number>): ProcessIdentity[] {
  return table.filter((entry) => pids.has(entry.pid)).map(({ pid, startTime }) => ({ pid, startTime }));
}
