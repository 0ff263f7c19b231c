import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CommandLog, type LogBudget } from './command-log';
import { OutputJournal } from './output-journal';

export interface LogLimits {
  maxLogBytesPerCommand: number;
  maxLogBytesTotal: number;
}

export interface LogPlaces {
  stateDir: string;
  /** For what only has to outlive this process; on a fast file system. */
  runtimeDir: string;
}

/** The files of one command are `N.log`, `N.exit` and `N.labelers.done` in a directory per session. */
const endings = { log: '.log', exit: '.exit', done: '.labelers.done' };
const hourMs = 60 * 60 * 1000;
const keptForMs = 7 * 24 * hourMs;
/** Everything else has its turn in between. */
const sliceMs = 2;
const betweenSlicesMs = 20;
/** Each is three files and is counted in memory. */
const mostLogs = 10_000;

type StoredLog = Pick<CommandLog, 'stem' | 'size' | 'finishedAt'>;

/** Where all logs are and how much they take together. The oldest finished ones make room for new output. */
export class LogStore implements LogBudget {
  readonly perCommand: number;
  private readonly root: string;
  private readonly templates: string;
  private readonly journal: OutputJournal;
  private readonly unsaved = new Set<CommandLog>();
  private total = 0;
  /** The oldest first. */
  private readonly finished = new Map<string, StoredLog>();
  /** Nobody can ask for these any more; their files go when there is time. */
  private forgotten: StoredLog[] = [];
  /** Sessions that may have more to log. */
  private readonly used = new Set<string>();
  private clearing: NodeJS.Timeout | undefined;

  constructor(
    { stateDir, runtimeDir }: LogPlaces,
    private readonly limits: LogLimits,
    private readonly most = mostLogs,
  ) {
    this.perCommand = limits.maxLogBytesPerCommand;
    this.root = join(stateDir, 'sessions');
    this.templates = join(stateDir, 'published');
    for (const path of [this.root, this.templates]) makePrivate(path);
    this.journal = new OutputJournal(runtimeDir);
  }

  create(sessionId: string, number: number): CommandLog {
    return new CommandLog(`${this.root}/${sessionId}/${number}`, endings.log, this);
  }

  /** A log that was found at the start is written again: it makes no room for others until it is finished. */
  reopen(log: CommandLog): void {
    this.finished.delete(log.stem);
  }

  makeDirectory(sessionId: string): void {
    this.used.add(sessionId);
    makePrivate(join(this.root, sessionId));
  }

  take(bytes: number): boolean {
    while (this.total + bytes > this.limits.maxLogBytesTotal) {
      const oldest = this.finished.values().next().value;
      if (oldest === undefined) return false;
      this.remove(oldest);
    }
    this.total += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.total -= bytes;
  }

  keep(log: CommandLog, records: Uint8Array): boolean {
    if (!this.journal.add(log.path, records)) return false;
    this.unsaved.add(log);
    return true;
  }

  settled(log: CommandLog): void {
    if (this.unsaved.delete(log) && this.unsaved.size === 0) this.journal.clear();
  }

  /** Makes the files of all logs, if a command may be about to look at one. */
  saveFor(command: string): void {
    if (this.unsaved.size > 0 && command.includes(this.root)) this.saveAll();
  }

  /** The runtime directory was removed, and what was safe in it with it. */
  reopenJournal(): void {
    this.saveAll();
    this.journal.reopen();
  }

  dispose(): void {
    clearTimeout(this.clearing);
    this.saveAll();
    this.journal.dispose();
  }

  /** Publishes how a command ended, in one step, so that a reader never sees half of it. */
  publishExit(log: CommandLog, exitCode: number | null): void {
    // It was removed before its turn came, and what is made now would never be.
    if (log.isDiscarded) return;
    log.save();
    const text = `${exitCode ?? 'unknown'}`;
    this.publish(text, log.stem + endings.exit);
  }

  /** Nothing more will be printed; from now on the log may have to make room for others. */
  finish(log: CommandLog): void {
    if (log.isSaved) log.close();
    // One that was found at the start is no younger for it.
    log.finishedAt = this.finished.get(log.stem)?.finishedAt ?? Date.now();
    this.finished.set(log.stem, log);
  }

  /** Publishes that nothing more will come: both streams have ended and everything is in the log. */
  publishEnd(log: CommandLog): void {
    log.save();
    log.close();
    if (!this.finished.has(log.stem)) return;
    if (log.size === 0 && log.stopped === undefined) this.publish('', log.path);
    this.publish('', log.stem + endings.done);
    // All that is still to be known of it, in less room.
    this.finished.set(log.stem, { stem: log.stem, size: log.size, finishedAt: log.finishedAt });
    this.removeBeyondMost();
  }

  /** A finished command's files are no longer wanted. Those that were made are removed later: that takes its time. */
  forget(log: CommandLog, wasPublished: boolean): void {
    log.close();
    if (wasPublished || (log.size > 0 && log.isSaved))
      this.forgotten.push({ stem: log.stem, size: log.size, finishedAt: log.finishedAt });
    else this.drop(log);
  }

  /** Whether files of forgotten commands are still there. */
  get hasForgotten(): boolean {
    return this.forgotten.length > 0;
  }

  /** Removes files of forgotten commands until the deadline; whether all are gone. */
  removeForgotten(deadline: number): boolean {
    for (let log = this.forgotten.pop(); log !== undefined; log = this.forgotten.pop()) {
      this.remove(log);
      if (performance.now() > deadline) break;
    }
    return this.forgotten.length === 0;
  }

  /** Removes a session's directory if nothing is in it. */
  leave(sessionId: string): void {
    this.used.delete(sessionId);
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

  private removeBeyondMost(): void {
    for (const oldest of this.finished.values()) {
      if (this.finished.size <= this.most) return;
      this.remove(oldest);
    }
  }

  private saveAll(): void {
    for (const log of this.unsaved) log.save();
  }

  private remove(log: StoredLog): void {
    this.drop(log);
    for (const ending of Object.values(endings)) unlinkIfThere(log.stem + ending);
  }

  private drop(log: StoredLog): void {
    if (this.finished.delete(log.stem)) this.total -= log.size;
    if (log instanceof CommandLog) log.discard();
  }

  /**
   * Makes the logs that others did not live to make, and counts all, the oldest first. Once, before any log is written. None is
   * removed yet: which of them are still being written is known when their commands have been taken up.
   */
  takeStock(): void {
    this.journal.replayThoseOfTheDead();
    const found: StoredLog[] = [];
    for (const session of list(this.root)) {
      for (const name of list(join(this.root, session))) {
        if (!name.endsWith(endings.log)) continue;
        const stem = join(this.root, session, name.slice(0, -endings.log.length));
        const status = lstatSync(stem + endings.log, { throwIfNoEntry: false });
        if (status === undefined) continue;
        found.push({ stem, size: status.isFile() ? status.size : 0, finishedAt: status.mtimeMs });
      }
    }
    found.sort((one, other) => one.finishedAt - other.finishedAt);
    for (const log of found) {
      this.total += log.size;
      this.finished.set(log.stem, log);
    }
  }

  /** Removes finished logs that are too many, or too old, and from now on those that become too old. */
  clearOut(): void {
    this.removeBeyondMost();
    this.removeOutdated(Number.POSITIVE_INFINITY);
  }

  private removeOutdated(deadline: number): void {
    let isDone = true;
    for (const log of this.finished.values()) {
      if (Date.now() - log.finishedAt <= keptForMs) break;
      isDone = performance.now() <= deadline;
      if (!isDone) break;
      this.remove(log);
      const sessionId = log.stem.slice(this.root.length + 1).split('/')[0] ?? '';
      if (!this.used.has(sessionId)) this.leave(sessionId);
    }
    const again = () => this.removeOutdated(performance.now() + sliceMs);
    this.clearing = setTimeout(again, isDone ? hourMs : betweenSlicesMs).unref();
  }
}

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

/** Logs are worth having, not worth refusing to work for: each command whose log fails says so. */
function makePrivate(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if ((lstatSync(directory).mode & 0o777) !== 0o700) chmodSync(directory, 0o700);
  } catch {
    // A full or read-only disk; it may be mended by the time a log is written.
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
