import { chmodSync, existsSync, readFileSync, renameSync } from 'node:fs';
import type { SessionDirectory } from './session-directory';

/** The shell's state on disk, to restore it from. A snapshot counts only once the shell has said that it is complete. */
export class Snapshots {
  /** The last command the snapshot knows of. */
  upTo = 0;
  private readonly files: readonly string[];
  private readonly environment: string;

  constructor(directory: SessionDirectory) {
    this.environment = directory.file('snapshot.environment');
    this.files = [directory.file('snapshot'), this.environment];
  }

  /** The shell has written a snapshot after this command. */
  complete(lastCommand: number): void {
    try {
      for (const file of this.files) {
        if (!existsSync(`${file}.new`)) continue;
        // The shell has made it with its own mask, and it holds the values of variables.
        chmodSync(`${file}.new`, 0o600);
        renameSync(`${file}.new`, file);
      }
    } catch {
      // Somebody removes the directory just now, for one; then another is taken when the session is next idle.
      return;
    }
    this.upTo = lastCommand;
  }

  /** Their files were removed. */
  lose(): void {
    this.upTo = -1;
  }

  /** What of an environment was still exported when the snapshot was taken. */
  stillExported(env: Record<string, string>): Record<string, string> {
    if (!existsSync(this.environment)) return env;
    const exported = readFileSync(this.environment, 'utf8');
    // No shell tells of names that are none of its own.
    const isKept = (name: string) =>
      !/^[A-Za-z]\w*$/.test(name) ||
      new RegExp(`^(export|declare|typeset)\\b[^=\\n]* ${name}([= ]|$)`, 'm').test(exported);
    return Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name)));
  }

  /** What to restore from, the best first. */
  get candidates(): string[] {
    return this.files.filter((file) => existsSync(file));
  }
}
