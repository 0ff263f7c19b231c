import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { identify, isAlive } from '../processes/identity';

/** What distinguishes it from what else is in its directory. */
const prefix = 'unlogged-';
const mostBytes = 8 * 1024 * 1024;
const newline = 0x0a;

/**
 * Holds what short commands have printed until there is time to make their logs: making a file takes longer than running
 * such a command, adding to one that is open takes next to nothing. If this process dies first, the next makes the logs.
 */
export class OutputJournal {
  private readonly path: string;
  private fd: number | undefined;
  private size = 0;
  private scratch = Buffer.alloc(4096);

  constructor(directory: string) {
    this.path = join(directory, `${prefix}${process.pid}-${identify(process.pid)?.startTime ?? 0}-${++opened}`);
    this.open();
  }

  /** For when its file was removed: nothing in it may be needed any more. */
  reopen(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
    this.size = 0;
    this.open();
  }

  private open(): void {
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      this.fd = openSync(this.path, 'w', 0o600);
    } catch {
      // Without it every log is made at once, or says why it cannot be.
    }
  }

  /** Makes the logs of processes that did not live to make them. */
  replayThoseOfTheDead(): void {
    const directory = dirname(this.path);
    if (this.fd === undefined) return;
    for (const name of readdirSync(directory)) {
      if (name.startsWith(prefix) && !isOwned(name)) replayIfThere(join(directory, name));
    }
  }

  /** Adds records to be written to a log; whether that could be done. */
  add(log: string, records: Uint8Array): boolean {
    if (this.fd === undefined || this.size > mostBytes) return false;
    const head = `${records.length} ${log}\n`;
    const needed = head.length * 3 + records.length;
    if (this.scratch.length < needed) this.scratch = Buffer.alloc(needed);
    const headLength = this.scratch.write(head);
    this.scratch.set(records, headLength);
    try {
      const length = headLength + records.length;
      // Less on a disk that is full; the next entry then takes its place.
      if (writeSync(this.fd, this.scratch, 0, length, this.size) < length) return false;
      this.size += length;
      return true;
    } catch {
      return false;
    }
  }

  /** Everything in it is where it belongs, or no longer needed. */
  clear(): void {
    if (this.fd === undefined || this.size === 0) return;
    try {
      ftruncateSync(this.fd, 0);
      this.size = 0;
    } catch {
      // What stays in it can only make a log again that somebody removed.
    }
  }

  dispose(): void {
    if (this.fd === undefined) return;
    closeSync(this.fd);
    rmSync(this.path, { force: true });
  }
}

/** Tells several of one process apart. */
let opened = 0;

function isOwned(name: string): boolean {
  const [pid, startTime = ''] = name.slice(prefix.length).split('-');
  return isAlive({ pid: Number(pid), startTime });
}

function replayIfThere(path: string): void {
  try {
    replay(path);
  } catch {
    // Another sidecar was faster, or the disk is full; then the next one tries again.
  }
}

/** Makes the logs a journal tells of, apart from those that were made after all. */
function replay(path: string): void {
  const logs = new Map<string, Buffer[]>();
  const text = readFileSync(path);
  for (let at = 0; ; ) {
    const headEnd = text.indexOf(newline, at);
    if (headEnd < 0) break;
    const [, length, log] = /^(\d+) (.*)$/.exec(text.toString('utf8', at, headEnd)) ?? [];
    at = headEnd + 1 + Number(length);
    if (log === undefined || at > text.length) break;
    logs.set(log, [...(logs.get(log) ?? []), text.subarray(headEnd + 1, at)]);
  }
  // One that cannot be made keeps no other from being made; the next sidecar tries again.
  const areMade = [...logs].map(([log, pieces]) => makeLog(log, Buffer.concat(pieces)));
  if (areMade.every(Boolean)) unlinkSync(path);
}

/** In one step, and never through what is there: the file of a log without output is one that many share. */
function makeLog(log: string, records: Buffer): boolean {
  if (sizeOf(log) >= records.length) return true;
  const aside = `${log}.new`;
  try {
    mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
    writeFileSync(aside, records, { mode: 0o600 });
    renameSync(aside, log);
    return true;
  } catch {
    if (sizeOf(aside) >= 0) rmSync(aside, { force: true });
    return false;
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return -1;
  }
}
