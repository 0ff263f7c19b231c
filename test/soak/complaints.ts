import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const error = 50;
/** The current part last, so that what moves meanwhile is met again. */
const parts = ['sidecar.log.2', 'sidecar.log.1', 'sidecar.log'];

/** What sidecars log that nobody should ever read. Parts of a log move on and go, so it has to be looked at now and then. */
export class Complaints {
  /** How far each part was read, by its inode. */
  private read = new Map<number, number>();

  constructor(private readonly stateDir: string) {}

  /** The lines since the last look that tell of an error. */
  look(): string[] {
    const there = new Map<number, number>();
    const lines = parts.flatMap((part) => this.newLines(join(this.stateDir, part), there));
    this.read = there;
    return lines.filter(isComplaint);
  }

  private newLines(path: string, there: Map<number, number>): string[] {
    let fd: number;
    try {
      fd = openSync(path, 'r');
    } catch {
      return [];
    }
    try {
      const { ino, size } = fstatSync(fd);
      const known = there.get(ino) ?? this.read.get(ino) ?? 0;
      // A smaller one is another that was given the same inode.
      const from = known <= size ? known : 0;
      const bytes = Buffer.alloc(size - from);
      const text = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
      const end = text.lastIndexOf('\n') + 1;
      there.set(ino, from + end);
      return text.toString('utf8', 0, end).split('\n');
    } finally {
      closeSync(fd);
    }
  }
}

function isComplaint(line: string): boolean {
  if (line === '') return false;
  try {
    return JSON.parse(line).level >= error;
  } catch {
    // A line that cannot be read is one too.
    return true;
  }
}
