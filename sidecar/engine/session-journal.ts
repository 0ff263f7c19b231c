import { reach } from '../checkpoints';
import type { OnIndexed } from '../output/command-output';
import type { Slot } from '../output/slot';
import type { ProcessIdentity } from '../processes/identity';
import type { Command } from './command';
import { Journal } from './journal';
import { beganLine, chunkLine, endedLine, freedLine, takenLine } from './journal-lines';
import { type JournalRecord, journalVersion, type SessionCondition, type SessionFoundation } from './journal-records';

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
  private soon: NodeJS.Immediate | undefined;

  constructor(
    path: string,
    private readonly subject: JournalSubject,
    onBroken: (error: unknown) => void,
  ) {
    this.journal = new Journal(path, onBroken);
  }

  /** Writes everything anew. */
  rewrite(): void {
    this.journal.rewrite(this.lines());
  }

  taken(command: Command): void {
    this.journal.note(takenLine(command.number, command.request));
  }

  /** On disk before the shell is told: a command that was begun is never begun again. */
  began(command: Command, slot: Slot): void {
    this.journal.note(beganLine(command, slot));
    this.flush();
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
      this.journal.note(chunkLine(number, stream, size, logEnd, time));
      if (isAwaited) this.flush();
    };
  }

  /** A shell can be asked again how its last command ended, but not one that is gone. */
  ended(command: Command): void {
    const { end } = command;
    if (end === undefined) return;
    this.journal.noteLater(() => endedLine(command, end));
    if (end.outcome === 'shell_exited') this.flush();
    // Not now, since somebody waits for the answer; and the next command may come first and take it along.
    else this.soon ??= setImmediate(() => this.flush());
  }

  freed({ number }: Command): void {
    this.journal.noteLater(() => freedLine(number));
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
    if (this.soon !== undefined) {
      // Left alone it would cost the next command another turn of the event loop.
      clearImmediate(this.soon);
      this.soon = undefined;
    }
    this.journal.flush();
  }

  /** For an idle moment. */
  tidy(): void {
    for (const number of this.forgottenNumbers.splice(0)) this.journal.note(lineOf(['forgotten', number]));
    if (this.journal.isLong) this.rewrite();
    else this.flush();
  }

  close(): void {
    this.flush();
    this.journal.close();
  }

  private noteNow(record: JournalRecord): void {
    this.journal.note(lineOf(record));
    this.flush();
  }

  private *lines(): Generator<string> {
    yield lineOf(['session', journalVersion, this.subject.foundation]);
    yield lineOf(['condition', this.subject.condition()]);
    for (const command of this.subject.commands()) yield* linesOf(command);
  }
}

const lineOf = (record: JournalRecord) => JSON.stringify(record);

function* linesOf(command: Command): Generator<string> {
  const { number, request, slot, subshell, inputKeeper, output, end } = command;
  const { index } = output;
  yield takenLine(number, request);
  if (slot !== undefined) yield beganLine(command, slot);
  if (subshell !== undefined) yield lineOf(['subshell', number, subshell]);
  if (inputKeeper !== undefined) yield lineOf(['input-kept', number, inputKeeper]);
  if (command.inputEnded) yield lineOf(['input-ended', number]);
  if (command.ending !== undefined) yield lineOf(['interrupted', number, command.ending]);
  if (index.first > 1) {
    const dropped = { ...output.bytes };
    for (const { stream, size } of index.pieces()) dropped[stream] -= size;
    dropped.stdout = Math.max(0, Math.min(dropped.stdout, index.droppedBytes));
    dropped.stderr = index.droppedBytes - dropped.stdout;
    yield lineOf(['chunks-dropped', number, { first: index.first, ...dropped, logStart: index.logStart }]);
  }
  for (const { stream, size, logEnd, time } of index.pieces()) yield chunkLine(number, stream, size, logEnd, time);
  if (end !== undefined) yield endedLine(command, end);
  if (end !== undefined && slot === undefined) yield freedLine(number);
}
