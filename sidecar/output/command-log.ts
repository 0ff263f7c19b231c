import { closeSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import type { StreamName } from '../../protocol/values';
import { PrefixEncoder } from './prefix-log';
import type { SpareFile } from './spare-files';

/** One encoder serves every log: a record is written before the next is encoded. */
const encoder = new PrefixEncoder();

/** What a log asks of the place it is in. */
export interface LogBudget {
  perCommand: number;
  /** Asks for room; answers whether there is. */
  take(bytes: number): boolean;
  takeSpare(): SpareFile | undefined;
}

/** A command's log on disk. Writing is synchronous: what a reader was told is in the log. */
export class CommandLog {
  /** Bytes in the file. */
  size = 0;
  /** Why no more is written, once that is so. */
  stopped: string | undefined;
  private fd: number | undefined;

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
      this.write(records);
    }
    return this.stopped === undefined ? this.size : undefined;
  }

  read(from: number, to: number): Buffer {
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
    if (this.fd === undefined) return;
    closeSync(this.fd);
    this.fd = undefined;
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
    }
  }

  private open(): number {
    const spare = this.budget.takeSpare();
    if (spare === undefined) return openSync(this.path, 'wx+', 0o600);
    renameSync(spare.path, this.path);
    return spare.fd;
  }

  private stop(why: string): void {
    this.stopped ??= why;
  }
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' ? 'the disk is full' : `the log could not be written (${code ?? 'unknown error'})`;
}
