import { chmodSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandLog, type LogBudget } from './command-log';

export interface LogLimits {
  maxLogBytesPerCommand: number;
  maxLogBytesTotal: number;
}

/** The files of one command are `N.log`, `N.exit` and `N.labelers.done` in a directory per session. */
const endings = { log: '.log', exit: '.exit', done: '.labelers.done' };
const keptForMs = 7 * 24 * 60 * 60 * 1000;

interface StoredLog {
  /** The path without its ending. */
  stem: string;
  size: number;
}

/** Where all logs are and how much they take together. The oldest finished ones make room for new output. */
export class LogStore implements LogBudget {
  readonly perCommand: number;
  private readonly root: string;
  private total = 0;
  private readonly finished = new Map<string, StoredLog>();

  constructor(
    stateDir: string,
    private readonly limits: LogLimits,
  ) {
    this.perCommand = limits.maxLogBytesPerCommand;
    this.root = join(stateDir, 'sessions');
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
    chmodSync(this.root, 0o700);
    this.countWhatIsThere();
  }

  create(sessionId: string, number: number): CommandLog {
    return new CommandLog(join(this.root, sessionId, `${number}${endings.log}`), this);
  }

  makeDirectory(sessionId: string): void {
    mkdirSync(join(this.root, sessionId), { recursive: true, mode: 0o700 });
  }

  take(bytes: number): boolean {
    while (this.total + bytes > this.limits.maxLogBytesTotal) {
      const oldest = this.finished.values().next().value;
      if (oldest === undefined) return false;
      this.remove(oldest.stem);
    }
    this.total += bytes;
    return true;
  }

  /** Publishes how a command ended: written aside, then renamed, so that a reader never sees half of it. */
  publishExit(log: CommandLog, exitCode: number | null): void {
    log.touch();
    publish(`${stemOf(log)}${endings.exit}`, `${exitCode ?? 'unknown'}\n`);
  }

  /** Publishes that nothing more will come: both streams have ended and everything is in the log. */
  publishEnd(log: CommandLog): void {
    log.close();
    publish(`${stemOf(log)}${endings.done}`, '');
    this.finished.set(stemOf(log), { stem: stemOf(log), size: log.size });
  }

  /** Removes a finished command's files. */
  forget(log: CommandLog): void {
    log.close();
    this.remove(stemOf(log));
  }

  /** Removes a session's directory if nothing is in it. */
  leave(sessionId: string): void {
    try {
      rmdirSync(join(this.root, sessionId));
    } catch {
      // Its logs are kept until they are too old or their room is needed.
    }
  }

  private remove(stem: string): void {
    this.total -= this.finished.get(stem)?.size ?? 0;
    this.finished.delete(stem);
    for (const ending of Object.values(endings)) rmSync(stem + ending, { force: true });
  }

  private countWhatIsThere(): void {
    const found: (StoredLog & { time: number })[] = [];
    for (const session of readdirSync(this.root)) {
      for (const name of list(join(this.root, session))) {
        if (!name.endsWith(endings.log)) continue;
        const stem = join(this.root, session, name.slice(0, -endings.log.length));
        const { size, mtimeMs } = statSync(stem + endings.log);
        found.push({ stem, size, time: mtimeMs });
      }
    }
    found.sort((one, other) => one.time - other.time);
    for (const { stem, size, time } of found) {
      this.total += size;
      this.finished.set(stem, { stem, size });
      if (Date.now() - time > keptForMs) {
        this.remove(stem);
        this.leave(stem.slice(this.root.length + 1).split('/')[0] ?? '');
      }
    }
  }
}

const stemOf = (log: CommandLog) => log.path.slice(0, -endings.log.length);

function publish(path: string, content: string): void {
  const aside = join(dirname(path), `.${process.pid}.new`);
  try {
    writeFileSync(aside, content, { mode: 0o600 });
    renameSync(aside, path);
  } catch {
    // A full disk loses the file for outside readers, never the answer to whoever asked.
    rmSync(aside, { force: true });
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
