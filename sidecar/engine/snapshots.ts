import { chmodSync, existsSync, renameSync } from 'node:fs';
import type { SessionDirectory } from './session-directory';

/** The shell's state on disk, to restore it from. A snapshot counts only once the shell has said that it is complete. */
export class Snapshots {
  /** The last command the snapshot knows of. */
  upTo = 0;
  private readonly files: readonly string[];

  constructor(directory: SessionDirectory) {
    this.files = [directory.file('snapshot'), directory.file('snapshot.environment')];
  }

  /** The shell has written a snapshot after this command. */
  complete(lastCommand: number): void {
    for (const file of this.files) {
      if (!existsSync(`${file}.new`)) continue;
      // The shell has made it with its own mask, and it holds the values of variables.
      chmodSync(`${file}.new`, 0o600);
      renameSync(`${file}.new`, file);
    }
    this.upTo = lastCommand;
  }

  /** Their files were removed. */
  lose(): void {
    this.upTo = -1;
  }

  /** What to restore from, the best first. */
  get candidates(): string[] {
    return this.files.filter((file) => existsSync(file));
  }
}
