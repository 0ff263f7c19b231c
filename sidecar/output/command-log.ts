import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { StreamName } from '../../protocol/values';
import { PrefixEncoder } from './prefix-log';

/** One encoder serves every log: a record is written before the next is encoded. */
const encoder = new PrefixEncoder();

/** Counts what all logs together take, so that one can be refused before the disk is full. */
export interface LogBudget {
  perCommand: number;
  /** Asks for room; answers whether there is. */
  take(bytes: number): boolean;
}

/** So much is kept back for so long before the file is made: making one takes longer than running a short command. */
const keptBackBytes = 16 * 1024;
const keptBackMs = 10;

/**
 * A command's log on disk. The first little output is kept back for a moment; beyond that writing is synchronous, so that
 * what a reader was told is in the log.
 */
export class CommandLog {
  /** Bytes in the log. */
  size = 0;
  /** Why no more is written, once that is so. */
  stopped: string | undefined;
  private fd: number | undefined;
  private isMade = false;
  private keptBack: Buffer[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly path: string,
    private readonly budget: LogBudget,
  ) {}

  /** Appends a piece of output; the place it ends at, or nothing if the log takes no more. */
  append(stream: StreamName, data: Uint8Array): number | undefined {
    if (this.stopped !== undefined) return undefined;
    const records = encoder.encode(stream, data);
    if (this.size + records.length > this.budget.perCommand) {
      this.stop(`the log reached its limit of ${this.budget.perCommand} bytes`);
    } else if (!this.budget.take(records.length)) {
      this.stop('all logs together reached their limit on disk');
    } else {
      const isKeptBack = !this.isMade && this.size + records.length <= keptBackBytes;
      if (!isKeptBack) this.flush();
      this.size += records.length;
      if (isKeptBack) this.keepBack(records);
      else this.write(records, this.size - records.length);
    }
    return this.stopped === undefined ? this.size : undefined;
  }

  /** Whether nothing was ever printed, so that there is no file. */
  get isEmpty(): boolean {
    return this.size === 0 && this.stopped === undefined;
  }

  /** Its command is over; what was kept back is written when that is published. */
  rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Writes what was kept back. */
  flush(): void {
    this.rest();
    const records = this.keptBack.length === 1 ? this.keptBack[0] : Buffer.concat(this.keptBack);
    this.keptBack = [];
    if (records !== undefined && records.length > 0) this.write(records, this.size - records.length);
  }

  read(from: number, to: number): Buffer {
    this.flush();
    const buffer = Buffer.allocUnsafe(to - from);
    const fd = this.fd ?? openSync(this.path, 'r');
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
    this.flush();
    if (this.fd === undefined) return;
    closeSync(this.fd);
    this.fd = undefined;
  }

  /** Closes it without writing what was kept back: nobody will read it any more. */
  discard(): void {
    this.rest();
    this.keptBack = [];
    this.close();
  }

  private keepBack(records: Uint8Array): void {
    this.keptBack.push(Buffer.from(records));
    this.timer ??= setTimeout(() => this.flush(), keptBackMs).unref();
  }

  private write(records: Uint8Array, at: number): void {
    try {
      const fd = this.open();
      let written = 0;
      while (written < records.length) {
        written += writeSync(fd, records, written, records.length - written, at + written);
      }
    } catch (error) {
      this.size = at;
      this.stop(reason(error));
    }
  }

  private open(): number {
    this.fd ??= openSync(this.path, this.isMade ? 'r+' : 'wx+', 0o600);
    this.isMade = true;
    return this.fd;
  }

  private stop(why: string): void {
    this.stopped ??= why;
  }
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' ? 'the disk is full' : `the log could not be written (${code ?? 'unknown error'})`;
}
