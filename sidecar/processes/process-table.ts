import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** One process as the system describes it. Pid and start time together identify it: pids are reused. */
export interface ProcessEntry {
  pid: number;
  parent: number;
  /** Opaque: only ever compared with another start time of the same machine. */
  startTime: string;
  state: string;
  name: string;
}

const isLinux = process.platform === 'linux';

const ticksPerSecond = 100;

/** A moment of this process's monotonic clock as a start time, a tick early rather than late. */
export function asStartTime(monotonicMs: number): number {
  const sinceBoot = uptime() - (performance.now() - monotonicMs) / 1000;
  return Math.floor(sinceBoot * ticksPerSecond) - 1;
}

/** What was seen of the processes so far in a look that answers several questions. */
interface Look {
  processes?: ProcessEntry[];
  environments: Map<number, string>;
  files: Map<number, string[]>;
}

let look: Look | undefined;

/**
 * Answers everything that is asked within from one look at the processes: each look at all of them takes its time. Not for
 * what is then signalled, which has to be looked for anew.
 */
export function inOneLook<R>(work: () => R): R {
  if (look !== undefined) return work();
  look = { environments: new Map(), files: new Map() };
  try {
    return work();
  } finally {
    look = undefined;
  }
}

function seenOnce<V>(seen: Map<number, V> | undefined, pid: number, see: (pid: number) => V): V {
  const known = seen?.get(pid);
  if (known !== undefined) return known;
  const value = see(pid);
  seen?.set(pid, value);
  return value;
}

/** Every process of the machine. */
export function listProcesses(): ProcessEntry[] {
  const processes = look?.processes ?? (isLinux ? listFromProc() : listFromPs());
  if (look !== undefined) look.processes = processes;
  return processes;
}

/** One process, or nothing if it is gone. */
export function findProcess(pid: number): ProcessEntry | undefined {
  return isLinux ? entryFromProc(pid) : listFromPs().find((entry) => entry.pid === pid);
}

/** A process's children, found without looking at every process where the kernel can tell. */
export function childrenOf(pid: number): number[] {
  const children = isLinux ? readOrEmpty(`/proc/${pid}/task/${pid}/children`) : '';
  if (children !== '') return children.trim().split(' ').map(Number);
  return [];
}

/** What a process does about a signal; nothing where nobody can tell. */
export function dispositionOf(pid: number, signal: number): 'caught' | 'ignored' | 'blocked' | 'default' | undefined {
  const status = isLinux ? readOrEmpty(`/proc/${pid}/status`) : '';
  const has = (mask: string) => {
    const bits = new RegExp(`^${mask}:\\s*([0-9a-f]+)`, 'm').exec(status)?.[1] ?? '0';
    return (BigInt(`0x${bits}`) >> BigInt(signal - 1)) & 1n;
  };
  if (!status.includes('SigCgt')) return undefined;
  if (has('SigCgt')) return 'caught';
  if (has('SigIgn')) return 'ignored';
  return has('SigBlk') ? 'blocked' : 'default';
}

/** The signal that ended a process whose parent has not collected it yet. */
export function endingSignalOf(pid: number): number | undefined {
  const stat = isLinux ? readOrEmpty(`/proc/${pid}/stat`) : '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? Number(fields[49]) & 0x7f : undefined;
}

/** Whether a process was started apart from its parent's terminal; what it forks itself is not. Linux only. */
export function leadsSession(pid: number): boolean {
  const stat = isLinux ? readStat(pid) : '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === pid;
}

/** How many files a process may have open; nothing where nobody can tell. */
export function descriptorLimitOf(pid: number): number | undefined {
  const limits = isLinux ? readOrEmpty(`/proc/${pid}/limits`) : '';
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return limit === undefined ? undefined : Number(limit);
}

/** The file a process runs. */
export function programOf(pid: number): string | undefined {
  try {
    return isLinux ? readlinkSync(`/proc/${pid}/exe`) : undefined;
  } catch {
    return undefined;
  }
}

/** The value a process was started with for an environment variable; nothing if it has none or may not be read. */
export function environmentValue(pid: number, name: string): string | undefined {
  const text = seenOnce(look?.environments, pid, environmentOf);
  const at = text.startsWith(`${name}=`) ? 0 : text.indexOf(`\0${name}=`) + 1;
  if (at === 0 && !text.startsWith(`${name}=`)) return undefined;
  const from = at + name.length + 1;
  const end = text.indexOf('\0', from);
  return text.slice(from, end < 0 ? undefined : end);
}

const environmentOf = (pid: number) => (isLinux ? readOrEmpty(`/proc/${pid}/environ`) : environmentFromPs(pid));

/** Whether a process is just becoming another program: it has one, and neither its words nor its environment yet. */
export function isBecoming(pid: number): boolean {
  const hasNothing = (file: string) => readOrEmpty(`/proc/${pid}/${file}`) === '';
  return isLinux && hasNothing('environ') && hasNothing('cmdline') && programOf(pid) !== undefined;
}

const deleted = ' (deleted)';

/** A FIFO whose directory somebody removed is the same FIFO. */
const nameOf = (link: string) => (link.endsWith(deleted) ? link.slice(0, -deleted.length) : link);

/** The files a process has open, by path. Empty where the platform does not tell. */
export function openFiles(pid: number): readonly string[] {
  return seenOnce(look?.files, pid, openFilesOf);
}

function openFilesOf(pid: number): string[] {
  if (!isLinux) return [];
  const paths: string[] = [];
  for (const fd of readDirectory(`/proc/${pid}/fd`)) {
    try {
      paths.push(nameOf(readlinkSync(`/proc/${pid}/fd/${fd}`)));
    } catch {
      // Closed since it was listed.
    }
  }
  return paths;
}

/** The file that is a process's standard input; nothing where the platform does not tell. */
export function standardInputOf(pid: number): string | undefined {
  try {
    return isLinux ? nameOf(readlinkSync(`/proc/${pid}/fd/0`)) : undefined;
  } catch {
    return undefined;
  }
}

/** A process's command line, for a person to recognise it by. */
export function commandLine(pid: number, limit = 200): string {
  if (!isLinux) return findProcess(pid)?.name ?? '';
  const words = readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  const text = words === '' ? (entryFromProc(pid)?.name ?? '') : words;
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function listFromProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readDirectory('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = entryFromProc(pid);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function entryFromProc(pid: number): ProcessEntry | undefined {
  const stat = readStat(pid);
  // The name stands in parentheses and may itself contain spaces and parentheses.
  const nameEnd = stat.lastIndexOf(')');
  if (nameEnd < 0) return undefined;
  const fields = stat.slice(nameEnd + 2).split(' ');
  return {
    pid,
    parent: Number(fields[1]),
    startTime: fields[19] ?? '',
    state: fields[0] ?? '',
    name: stat.slice(stat.indexOf('(') + 1, nameEnd),
  };
}

/** Longer than any of them: numbers, and a name of at most 64 bytes. */
const statBuffer = Buffer.alloc(4096);

/** In half the time of readFileSync, because this is read of every process of the machine. */
function readStat(pid: number): string {
  try {
    return withReserve(() => {
      const file = openSync(`/proc/${pid}/stat`, 'r');
      try {
        return statBuffer.toString('latin1', 0, readSync(file, statBuffer, 0, statBuffer.length, 0));
      } finally {
        closeSync(file);
      }
    });
  } catch {
    return '';
  }
}

function listFromPs(): ProcessEntry[] {
  const table = execFileSync('ps', ['-axo', 'pid=,ppid=,state=,lstart=,comm='], { encoding: 'utf8' });
  const row = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/;
  return table.split('\n').flatMap((line) => {
    const [, pid, parent, state, startTime, name] = row.exec(line) ?? [];
    if (pid === undefined) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        startTime: startTime ?? '',
        state: state?.[0] ?? '',
        name: name ?? '',
      },
    ];
  });
}

function environmentFromPs(pid: number): string {
  try {
    return execFileSync('ps', ['-Eww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).replaceAll(
      ' ',
      '\0',
    );
  } catch {
    return '';
  }
}

/** Given up for a moment when no file can be opened: without a look at the processes none could be ended. */
let reserve: number | undefined;
takeReserve();

function withReserve<R>(read: () => R): R {
  if (reserve === undefined) takeReserve();
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE' || reserve === undefined) throw error;
  }
  closeSync(reserve);
  reserve = undefined;
  try {
    return read();
  } finally {
    takeReserve();
  }
}

function takeReserve(): void {
  try {
    if (isLinux) reserve ??= openSync('/dev/null', 'r');
  } catch {
    // Somebody else was faster; the next read tries again.
  }
}

function readOrEmpty(path: string): string {
  try {
    return withReserve(() => readFileSync(path, 'latin1'));
  } catch {
    return '';
  }
}

function readDirectory(path: string): string[] {
  try {
    return withReserve(() => readdirSync(path));
  } catch {
    return [];
  }
}

const barelyMs = 5;

/** Whether a process would run if it had a processor, and has had next to none so far. */
export function hasBarelyRun(pid: number): boolean {
  if (findProcess(pid)?.state !== 'R') return false;
  try {
    const [onProcessorNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(onProcessorNs) < barelyMs * 1e6;
  } catch {
    return false;
  }
}
