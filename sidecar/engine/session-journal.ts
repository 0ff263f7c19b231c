import { reach } from '../checkpoints';
import type { OnIndexed } from '../output/command-output';
import type { Slot } from '../output/slot';
import type { ProcessIdentity } from '../processes/identity';
import type { Command } from './command';
import { Journal } from './journal';
import {
  type JournalRecord,
  journalVersion,
  type OutputTotals,
  type SessionCondition,
  type SessionFoundation,
} from './journal-records';

/** The kernel's monotonic clock at this process's zero: the same for every process until the machine starts anew. */
const monotonicZero = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** A moment of another process's monotonic clock in this process's terms. */
export const fromMonotonic = (monotonic: number) => monotonic - monotonicZero;

/** What a journal is about. */
export interface JournalSubject {
  foundation: SessionFoundation;
  condition(): SessionCondition;
  commands(): Iterable<Command>;
}

/** Notes what happens to a session. What somebody has been told is on disk before; the rest may wait for the next note. */
export class SessionJournal {
  private readonly journal: Journal;
  /** Commands that were forgotten since the last idle moment. A note that is lost costs only room. */
  private forgottenNumbers: number[] = [];

  constructor(
    path: string,
    private readonly subject: JournalSubject,
    onBroken: (error: unknown) => void,
  ) {
    this.journal = new Journal(path, onBroken);
  }

  /** Writes everything anew. */
  rewrite(): void {
    this.journal.rewrite(this.records());
  }

  taken(command: Command): void {
    this.journal.note(['taken', command.number, command.request]);
  }

  /** On disk before the shell is told: a command that was begun is never begun again. */
  began(command: Command, slot: Slot): void {
    this.journal.note(beginning(command, slot));
    this.journal.flush();
    reach('command-noted');
  }

  subshell(command: Command, identity: ProcessIdentity): void {
    this.noteNow(['subshell', command.number, identity]);
  }

  inputKept(command: Command, keeper: ProcessIdentity): void {
    this.noteNow(['input-kept', command.number, keeper]);
  }

  /** On disk before whoever asked for it is told: nobody would ask again. */
  inputEnded(command: Command): void {
    this.noteNow(['input-ended', command.number]);
    reach('input-ended');
  }

  interrupted(command: Command): void {
    if (command.ending !== undefined) this.noteNow(['interrupted', command.number, command.ending]);
  }

  chunksOf(number: number): OnIndexed {
    return (stream, size, logEnd, time, isAwaited) => {
      this.journal.noteChunk(number, stream, size, logEnd, time);
      if (isAwaited) this.journal.flush();
    };
  }

  /** A shell can be asked again how its last command ended, but not one that is gone. */
  ended(command: Command): void {
    if (command.end === undefined) return;
    this.journal.noteLater(() => ending(command));
    if (command.end.outcome === 'shell_exited') this.journal.flush();
    // Not now, since somebody waits for the answer; and the next command may come first and take it along.
    else setImmediate(() => this.journal.flush());
  }

  freed(command: Command): void {
    this.journal.noteLater(() => ['freed', command.number]);
  }

  forgotten({ number }: Command): void {
    this.forgottenNumbers.push(number);
  }

  changed(): void {
    this.noteNow(['condition', this.subject.condition()]);
  }

  destroyed(): void {
    this.noteNow(['destroyed']);
    reach('destroy-begun');
  }

  flush(): void {
    this.journal.flush();
  }

  /** For an idle moment. */
  tidy(): void {
    for (const number of this.forgottenNumbers.splice(0)) this.journal.note(['forgotten', number]);
    if (this.journal.isLong) this.rewrite();
    else this.journal.flush();
  }

  close(): void {
    this.journal.close();
  }

  private noteNow(record: JournalRecord): void {
    this.journal.note(record);
    this.journal.flush();
  }

  private *records(): Generator<JournalRecord> {
    yield ['session', journalVersion, this.subject.foundation];
    yield ['condition', this.subject.condition()];
    for (const command of this.subject.commands()) yield* recordsOf(command);
  }
}

function* recordsOf(command: Command): Generator<JournalRecord> {
  const { number, request, slot, subshell, inputKeeper, output } = command;
  const { index } = output;
  yield ['taken', number, request];
  if (slot !== undefined) yield beginning(command, slot);
  if (subshell !== undefined) yield ['subshell', number, subshell];
  if (inputKeeper !== undefined) yield ['input-kept', number, inputKeeper];
  if (command.inputEnded) yield ['input-ended', number];
  if (command.ending !== undefined) yield ['interrupted', number, command.ending];
  if (index.first > 1) {
    const dropped = { ...output.bytes };
    for (const { stream, size } of index.pieces()) dropped[stream] -= size;
    dropped.stdout = Math.max(0, Math.min(dropped.stdout, index.droppedBytes));
    dropped.stderr = index.droppedBytes - dropped.stdout;
    yield ['chunks-dropped', number, { first: index.first, ...dropped, logStart: index.logStart }];
  }
  for (const { stream, size, logEnd, time } of index.pieces()) yield ['chunk', number, stream, size, logEnd, time];
  if (command.end !== undefined) yield ending(command);
  if (command.end !== undefined && slot === undefined) yield ['freed', number];
}

function beginning({ number, startedAt, startedMonotonic }: Command, slot: Slot): JournalRecord {
  return ['began', number, { slot: slot.number, startedAt, monotonic: startedMonotonic + monotonicZero }];
}

function ending({ number, end, tookMs, startedAt, output }: Command): JournalRecord {
  const { bytes, unlogged, log } = output;
  const totals: OutputTotals = { stdout: bytes.stdout, stderr: bytes.stderr, unlogged };
  if (log.stopped !== undefined) totals.stopped = log.stopped;
  const nothing = { outcome: 'cancelled' as const, exitCode: null, signal: null, cwd: '', notes: [] };
  return ['ended', number, end ?? nothing, { tookMs, startedAt }, totals];
}
