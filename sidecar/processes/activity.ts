import { readFileSync } from 'node:fs';
import type { Activity } from '../../protocol/values';
import { commandLine, listProcesses, openFiles, type ProcessEntry } from './process-table';

/** The files a command has as its streams, to tell what one of its processes waits for. */
export interface ActivityTraces {
  pids: readonly number[];
  /** The FIFO that is its standard input, if it is kept open. */
  stdin: string | undefined;
}

/** What a command's processes are doing, by what the kernel says of them. */
export function activityOf({ pids, stdin }: ActivityTraces): Activity {
  const wanted = new Set(pids);
  const entries = listProcesses().filter((entry) => wanted.has(entry.pid));
  if (entries.length === 0)
    return { kind: 'unknown', evidence: 'It has no process of its own; the shell itself runs it.' };
  const found = (kind: Activity['kind'], entry: ProcessEntry, why: string): Activity => ({
    kind,
    evidence: `${commandLine(entry.pid, 80)} (pid ${entry.pid}) ${why}`,
  });
  for (const entry of entries) {
    if (entry.state === 'T' || entry.state === 't') return found('stopped', entry, 'is stopped');
    if (entry.state === 'R') return found('computing', entry, 'is running on a processor');
  }
  for (const entry of entries) {
    if (stdin !== undefined && readsFrom(entry.pid, stdin))
      return found('waiting_for_input', entry, 'reads its standard input');
  }
  const last = entries.at(-1) as ProcessEntry;
  if (last.state === 'D') return found('waiting_for_io', last, 'waits for a device');
  const where = waitChannel(last.pid);
  return found('sleeping', last, where === '' ? 'sleeps' : `sleeps in ${where}`);
}

/** Whether a process is blocked reading that FIFO. */
export function readsFrom(pid: number, fifo: string): boolean {
  return openFiles(pid).includes(fifo) && readsStandardInput(pid);
}

/** Whether a process is blocked reading its standard input; where only that it waits for a pipe is told, that counts. */
export function readsStandardInput(pid: number): boolean {
  const call = systemCall(pid);
  if (call !== undefined) return call.isRead && call.firstArgument === 0;
  return /pipe_(wait|read)/.test(waitChannel(pid));
}

const readCalls: Partial<Record<string, string>> = { x64: '0', arm64: '63' };

function systemCall(pid: number): { isRead: boolean; firstArgument: number } | undefined {
  const read = readCalls[process.arch];
  try {
    const [number, argument] = readFileSync(`/proc/${pid}/syscall`, 'utf8').split(' ');
    if (read === undefined || argument === undefined) return undefined;
    return { isRead: number === read, firstArgument: Number(argument) };
  } catch {
    return undefined;
  }
}

function waitChannel(pid: number): string {
  try {
    const name = readFileSync(`/proc/${pid}/wchan`, 'utf8').trim();
    return name === '0' ? '' : name;
  } catch {
    return '';
  }
}
