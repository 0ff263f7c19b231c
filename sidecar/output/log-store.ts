import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CommandLog, type LogBudget } from './command-log';
import { type SpareFile, SpareFiles } from './spare-files';

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
  private readonly templates: string;
  private readonly spares: SpareFiles;
  private total = 0;
  private readonly finished = new Map<string, StoredLog>();

  constructor(
    stateDir: string,
    private readonly limits: LogLimits,
  ) {
    this.perCommand = limits.maxLogBytesPerCommand;
    this.root = join(stateDir, 'sessions');
    this.templates = join(stateDir, 'published');
    for (const path of [this.root, this.templates]) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      chmodSync(path, 0o700);
    }
    this.spares = new SpareFiles(join(stateDir, 'spare'));
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

  takeSpare(): SpareFile | undefined {
    return this.spares.take();
  }

  /** Called when there is time for what will soon be needed. */
  prepare(): void {
    this.spares.prepare();
  }

  dispose(): void {
    this.spares.dispose();
  }

  /** Publishes how a command ended, in one step, so that a reader never sees half of it. */
  publishExit(log: CommandLog, exitCode: number | null): void {
    const text = `${exitCode ?? 'unknown'}`;
    this.publish(text, `${stemOf(log)}${endings.exit}`);
  }

  /** Nothing more will be printed; from now on the log may have to make room for others. */
  finish(log: CommandLog): void {
    this.finished.set(stemOf(log), { stem: stemOf(log), size: log.size });
  }

  /** Publishes that nothing more will come: both streams have ended and everything is in the log. */
  publishEnd(log: CommandLog): void {
    log.close();
    if (!this.finished.has(stemOf(log))) return;
    if (log.size === 0) this.publish('', log.path);
    this.publish('', `${stemOf(log)}${endings.done}`);
  }

  /** Removes a finished command's files, as far as they were made. */
  forget(log: CommandLog, wasPublished: boolean): void {
    log.close();
    if (wasPublished || log.size > 0) this.remove(stemOf(log));
    else this.finished.delete(stemOf(log));
  }

  /** Removes a session's directory if nothing is in it. */
  leave(sessionId: string): void {
    try {
      rmdirSync(join(this.root, sessionId));
    } catch {
      // Its logs are kept until they are too old or their room is needed.
    }
  }

  /**
   * A file of which there are many with the same short text is a link to a first one, which was written aside and renamed:
   * as atomic, and a quarter of the work.
   */
  private publish(text: string, path: string): void {
    try {
      linkTo(join(this.templates, text === '' ? 'empty' : text), path, text);
    } catch {
      // A full disk loses the file for outside readers, never the answer to whoever asked.
    }
  }

  private remove(stem: string): void {
    this.total -= this.finished.get(stem)?.size ?? 0;
    this.finished.delete(stem);
    for (const ending of Object.values(endings)) unlinkIfThere(stem + ending);
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

function linkTo(template: string, path: string, text: string): void {
  try {
    linkSync(template, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    const aside = `${template}.new`;
    writeFileSync(aside, text === '' ? '' : `${text}\n`, { mode: 0o600 });
    renameSync(aside, template);
    linkSync(template, path);
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never made, or somebody else removed it.
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
