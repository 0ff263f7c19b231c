import { closeSync, mkdirSync, open, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess } from '../processes/process-table';

/** An empty file that is already open, to be renamed to what it is needed as. */
export interface SpareFile {
  path: string;
  fd: number;
}

const kept = 2;

/** Makes files ahead of need, beside the event loop: on a disk that takes as long as running a short command. */
export class SpareFiles {
  private readonly files: SpareFile[] = [];
  private made = 0;
  private pending = 0;
  private isDisposed = false;

  constructor(private readonly directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.removeThoseOfTheDead();
  }

  take(): SpareFile | undefined {
    return this.files.pop();
  }

  prepare(): void {
    if (this.isDisposed || this.files.length + this.pending >= kept) return;
    this.pending++;
    const path = join(this.directory, `spare-${process.pid}-${this.made++}`);
    open(path, 'w+', 0o600, (error, fd) => {
      this.pending--;
      // Whoever needs the file will meet the same error and say it.
      if (error !== null) return;
      if (this.isDisposed) remove({ path, fd });
      else this.files.push({ path, fd });
    });
  }

  dispose(): void {
    this.isDisposed = true;
    for (const file of this.files.splice(0)) remove(file);
  }

  private removeThoseOfTheDead(): void {
    for (const name of readdirSync(this.directory)) {
      const [, pid] = /^spare-(\d+)-/.exec(name) ?? [];
      if (pid !== undefined && findProcess(Number(pid)) === undefined) unlinkSync(join(this.directory, name));
    }
  }
}

function remove({ path, fd }: SpareFile): void {
  closeSync(fd);
  try {
    unlinkSync(path);
  } catch {
    // Somebody else was faster.
  }
}
