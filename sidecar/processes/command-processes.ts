import type { ProcessIdentity } from './identity';
import { commandLine, environmentValue, listProcesses, openFiles, type ProcessEntry } from './process-table';

/** Exported to every command, so that its processes can be told from those of any other, wherever they went. */
export const commandIdVariable = 'LIMPET_COMMAND_ID';

export interface CommandTraces {
  commandId: string;
  /** The FIFOs that are its stdout and stderr. */
  fifos: readonly string[];
  /** The shell, for a foreground command; the subshell that reports, for a background one. It is not the command's. */
  root: number;
  /** Subshells under the same root that are known to be other commands'. */
  others: readonly number[];
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
  const table = living(traces.since);
  const sessionOf = (id: string) => id.slice(0, id.lastIndexOf(':'));
  const own = new Set<number>();
  for (const entry of table) {
    if (entry.pid === traces.root || traces.others.includes(entry.pid)) continue;
    const carried = environmentValue(entry.pid, commandIdVariable);
    if (carried === traces.commandId || holds(entry.pid, traces.fifos)) own.add(entry.pid);
    else if (
      entry.parent === traces.root &&
      traces.startedAt !== undefined &&
      isYounger(entry, traces.startedAt) &&
      (carried === undefined || sessionOf(carried) !== sessionOf(traces.commandId))
    ) {
      own.add(entry.pid);
    }
  }
  return select(table, withDescendants(table, own, traces.root));
}

export interface SessionTraces {
  sessionId: string;
  directory: string;
  shell: number | undefined;
  /** The start time of the session's first shell. Whatever is older is none of its business, which saves a closer look. */
  since: string | undefined;
}

/** Everything that belongs to a session: its shell's descendants and whatever carries one of its ids or holds its FIFOs. */
export function processesOfSession({ sessionId, directory, shell, since }: SessionTraces): ProcessIdentity[] {
  const table = living(since);
  const own = new Set<number>();
  for (const entry of table) {
    if (entry.pid === shell || environmentValue(entry.pid, commandIdVariable)?.startsWith(`${sessionId}:`)) {
      own.add(entry.pid);
    } else if (openFiles(entry.pid).some((path) => path.startsWith(`${directory}/`))) {
      own.add(entry.pid);
    }
  }
  return select(table, withDescendants(table, own, undefined));
}

/** Who keeps a command's output open after it ended. */
export function holdersOf(
  fifos: readonly string[],
  { except, since }: { except: number | undefined; since: string | undefined },
): { pid: number; command: string }[] {
  return living(since)
    .filter((entry) => entry.pid !== except && holds(entry.pid, fifos))
    .map((entry) => ({ pid: entry.pid, command: commandLine(entry.pid) }));
}

function living(since: string | undefined): ProcessEntry[] {
  const oldest = Number(since ?? 0);
  return listProcesses().filter(
    (entry) => entry.pid !== process.pid && entry.state !== 'Z' && isYounger(entry, oldest),
  );
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
