import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { StreamName } from '../../protocol/values';
import { isPassing } from '../system-failure';
import { PrefixEncoder } from './prefix-log';

/** One encoder serves every log: a record is written before the next is encoded. */
const encoder = new PrefixEncoder();

/** A FIFO that somebody put in a log's place must not block either. */
export const readWithoutFollowing = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What a log asks of the place it is in. */
export interface LogBudget {
  perCommand: number;
  /** Asks for room; answers whether there is. */
  take(bytes: number): boolean;
  /** Room that was asked for and could not be used. */
  giveBack(bytes: number): void;
  /** Whether records are safe without the log, which then has to be saved later. */
  keep(log: CommandLog, records: Uint8Array): boolean;
  /** The file has them now, or they will not be wanted. */
  settled(log: CommandLog): void;
}

/** A short command's output is in the journal at first. */
const mostKept = 16 * 1024;

/** A command's log on disk. Writing is synchronous: what a reader was told is in the log, or in the journal. */
export class CommandLog {
  /** Bytes in the file. */
  size = 0;
  /** Why no more is written, once that is so. */
  stopped: string | undefined;
  /** When nothing more was to be written, in milliseconds since 1970. */
  finishedAt = 0;
  /** Its files had to make room for others, or its command was forgotten. */
  isDiscarded = false;
  private fd: number | undefined;
  private isThere = false;
  /** Records the file does not have yet. */
  private kept: Uint8Array | undefined;
  private mayKeep = true;
  private isLive = false;

  constructor(
    /** The path without its ending. */
    readonly stem: string,
    private readonly ending: string,
    private readonly budget: LogBudget,
  ) {}

  get path(): string {
    return this.stem + this.ending;
  }

  /** Appends a piece of output; the place it ends at, or nothing if the log takes no more. */
  append(stream: StreamName, data: Uint8Array): number | undefined {
    if (this.stopped !== undefined) return undefined;
    const records = encoder.encode(stream, data);
    if (this.size + records.length > this.budget.perCommand) {
      this.stop(`the log reached its limit of ${this.budget.perCommand} bytes`);
    } else if (!this.budget.take(records.length)) {
      this.stop('all logs together reached their limit on disk');
    } else {
      this.add(records);
    }
    return this.stopped === undefined ? this.size : undefined;
  }

  /** Goes on with a log that is already there. */
  resume(isThere: boolean, size: number, stopped: string | undefined): void {
    this.mayKeep = false;
    this.isThere = isThere;
    this.size = size;
    this.stopped = stopped;
  }

  /** The command goes on for longer, so whoever reads the log finds in it what was printed so far. */
  goLive(): void {
    this.isLive = true;
    if (this.kept !== undefined) this.save();
  }

  /** Makes the file if there is none yet. From now on it has everything at once. */
  save(): void {
    const { kept } = this;
    this.mayKeep = false;
    this.kept = undefined;
    if (kept === undefined) return;
    this.size = 0;
    this.write(kept);
    this.budget.settled(this);
  }

  /** What is in no file yet will not be wanted, and no file about it either. */
  discard(): void {
    this.isDiscarded = true;
    this.kept = undefined;
    this.budget.settled(this);
  }

  get isSaved(): boolean {
    return this.kept === undefined;
  }

  /** Less than asked for, or nothing, if somebody has meddled with the file. */
  read(from: number, to: number): Buffer {
    if (this.kept !== undefined) return Buffer.from(this.kept.subarray(from, to));
    const buffer = Buffer.allocUnsafe(to - from);
    const fd = this.fd ?? openLog(this.path);
    if (fd === undefined) return buffer.subarray(0, 0);
    try {
      let length = 0;
      while (length < buffer.length) {
        const count = readSync(fd, buffer, length, buffer.length - length, from + length);
        if (count === 0) break;
        length += count;
      }
      return buffer.subarray(0, length);
    } finally {
      if (fd !== this.fd) closeSync(fd);
    }
  }

  close(): void {
    if (this.fd === undefined) return;
    closeSync(this.fd);
    this.fd = undefined;
  }

  private add(records: Uint8Array): void {
    // The journal comes first in any case: what was read would be lost with a sidecar that is killed while it makes a file.
    if (this.mayKeep && this.budget.keep(this, records)) {
      this.kept = this.kept === undefined ? Buffer.from(records) : Buffer.concat([this.kept, records]);
      this.size += records.length;
      if (this.isLive || this.size > mostKept) this.save();
      return;
    }
    this.save();
    // Behind what could not be written nothing is: it would stand in the wrong place.
    if (this.stopped === undefined) this.write(records);
    else this.budget.giveBack(records.length);
  }

  private write(records: Uint8Array): void {
    try {
      this.fd ??= this.open();
      let written = 0;
      while (written < records.length) {
        written += writeSync(this.fd, records, written, records.length - written, this.size + written);
      }
      this.size += records.length;
    } catch (error) {
      this.stop(reason(error));
      this.dropPartOfRecord();
      this.budget.giveBack(records.length);
    }
  }

  /** Whoever reads the log finds whole pieces of output, or nothing of them. */
  private dropPartOfRecord(): void {
    try {
      if (this.fd !== undefined) ftruncateSync(this.fd, this.size);
    } catch {
      // Then a reader finds a part of what was printed, in its place.
    }
  }

  private open(): number {
    if (this.isThere) return openSync(this.path, constants.O_RDWR | constants.O_NOFOLLOW);
    return openSync(this.path, 'wx+', 0o600);
  }

  private stop(why: string): void {
    this.stopped ??= why;
  }
}

/** A link in its place is not followed; nothing if the log is no longer there. */
function openLog(path: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, readWithoutFollowing);
  } catch (error) {
    if (!isPassing(error)) return undefined;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC') return 'the disk is full';
  if (code === 'EROFS') return 'the file system of the logs is read-only';
  return `the log could not be written (${code ?? 'unknown error'})`;
}
