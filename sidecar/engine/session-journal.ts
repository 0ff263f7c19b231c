import type { StreamName } from '../../protocol/values';
import { reach } from '../checkpoints';
import type { CommandOutput, OutputNotes } from '../output/command-output';
import type { Slot } from '../output/slot';
import type { ProcessIdentity } from '../processes/identity';
import type { Command, Ending } from './command';
import { Journal } from './journal';
import { type JournalRecord, journalVersion, type SessionCondition, type SessionFoundation } from './journal-records';
import { packs } from './packed-pieces';
import { digitsOf } from './times';

const flushAfterMs = 5;

/** No more than a sidecar that is killed has in its hands in any case. */
const mostUncounted = 64 * 1024;

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
  /** Of commands whose log takes no more: what was printed since their sums were noted. They are noted with what follows. */
  private readonly uncounted = new Map<number, number>();
  private flushTimer: NodeJS.Timeout | undefined;
  private tidying: NodeJS.Immediate | undefined;
  private isDestroyed = false;

  constructor(
    path: string,
    private readonly subject: JournalSubject,
    onBroken: (error: unknown) => void,
  ) {
    this.journal = new Journal(path, () => this.lines(), onBroken);
  }

  /** Writes everything anew. */
  rewrite(): void {
    this.journal.rewrite();
  }

  taken(command: Command): void {
    this.journal.noteLine(taking(command));
  }

  /** On disk before the shell is told: a command that was begun is never begun again. */
  began(command: Command, slot: Slot): void {
    this.journal.noteLine(beginning(command, slot));
    this.journal.flush();
    reach('command-noted');
  }

  subshell(command: Command, identity: ProcessIdentity): void {
    this.noteNow(['subshell', command.number, identity]);
  }

  /** On disk before whoever wrote it is told, as its end is. */
  input(command: Command, data: Buffer): void {
    this.noteNow(inputOf(command, data));
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

  chunksOf(number: number): OutputNotes {
    return {
      indexed: (stream, size, logEnd, time, isAwaited) => {
        this.journal.noteLine(chunk(number, stream, size, logEnd, time));
        if (isAwaited) this.journal.flush();
        this.tidyIfLong();
      },
      unlogged: (output, size, isAwaited) => {
        const uncounted = this.uncounted.get(number);
        this.uncounted.set(number, (uncounted ?? 0) + size);
        if (uncounted === undefined) this.journal.noteLater(() => this.sums(number, output));
        const isFirst = output.unlogged === size;
        if (isFirst || isAwaited || (uncounted ?? 0) + size > mostUncounted) this.flush();
        else this.flushSoon();
        this.tidyIfLong();
      },
    };
  }

  ended(command: Command): void {
    if (command.end === undefined) return;
    this.journal.noteLater(() => ending(command));
    // Not now, since somebody waits for the answer; and the next command may come first and take it along.
    if (canBeAskedAgain(command)) this.flushSoon();
    else this.flush();
  }

  freed({ number }: Command): void {
    this.journal.noteLater(() => freeing(number));
  }

  forgotten({ number }: Command): void {
    this.forgottenNumbers.push(number);
  }

  changed(): void {
    this.noteNow(['condition', this.subject.condition()]);
  }

  destroyed(): void {
    this.isDestroyed = true;
    this.noteNow(['destroyed']);
    reach('destroy-begun');
  }

  flush(): void {
    clearTimeout(this.flushTimer);
    this.flushTimer = undefined;
    this.journal.flush();
  }

  /** For an idle moment. */
  tidy(): void {
    clearImmediate(this.tidying);
    this.tidying = undefined;
    for (const number of this.forgottenNumbers.splice(0)) this.journal.noteLine(line(['forgotten', number]));
    if (this.journal.isLong) this.rewrite();
    else this.flush();
  }

  close(): void {
    clearTimeout(this.flushTimer);
    clearImmediate(this.tidying);
    this.journal.close();
  }

  /** As close, without writing what is not written yet. */
  discard(): void {
    clearTimeout(this.flushTimer);
    clearImmediate(this.tidying);
    this.journal.discard();
  }

  private noteNow(record: JournalRecord): void {
    this.journal.noteLine(line(record));
    this.journal.flush();
  }

  private flushSoon(): void {
    this.flushTimer ??= setTimeout(() => this.flush(), flushAfterMs).unref();
  }

  /** One command that prints for days must not make it grow without end. */
  private tidyIfLong(): void {
    if (this.journal.isLong) this.tidying ??= setImmediate(() => this.tidy());
  }

  private sums(number: number, output: CommandOutput): string {
    this.uncounted.delete(number);
    return stopping(number, output);
  }

  private *lines(): Generator<string> {
    this.uncounted.clear();
    yield line(['session', journalVersion, this.subject.foundation]);
    yield line(['condition', this.subject.condition()]);
    for (const command of this.subject.commands()) yield* linesOf(command);
    if (this.isDestroyed) yield line(['destroyed']);
  }
}

const line = (record: JournalRecord) => JSON.stringify(record);

const inputOf = ({ number }: Command, data: Buffer): JournalRecord => ['input', number, data.toString('base64')];

/** The shell that ran a foreground command tells how it ended when it is asked, as long as it lives. */
function canBeAskedAgain({ slot, request, error, end }: Command): boolean {
  const isReported = end?.outcome === 'exited' || end?.outcome === 'signaled';
  return isReported && slot !== undefined && !request.background && error === undefined;
}

function* linesOf(command: Command): Generator<string> {
  const { number, slot, subshell, inputKeeper, output } = command;
  const { index } = output;
  yield taking(command);
  if (slot !== undefined) yield beginning(command, slot);
  if (subshell !== undefined) yield line(['subshell', number, subshell]);
  for (const data of command.earlyInput) yield line(inputOf(command, data));
  if (inputKeeper !== undefined) yield line(['input-kept', number, inputKeeper]);
  if (command.inputEnded) yield line(['input-ended', number]);
  if (command.isBereft) yield line(['bereft', number]);
  if (command.ending !== undefined) yield line(['interrupted', number, command.ending]);
  if (index.first > 1)
    yield line(['chunks-dropped', number, { first: index.first, ...index.dropped, logStart: index.logStart }]);
  for (const pack of packs(index.pieces())) yield line(['chunks', number, pack]);
  if (command.end !== undefined) yield ending(command);
  else if (output.log.stopped !== undefined) yield stopping(number, output);
  if (command.end !== undefined && slot === undefined) yield freeing(number);
}

// What is noted of every command is put into words by hand: to have an object put into words takes several times as long.

function taking({ number, request }: Command): string {
  const { text, background, stdin, overrides, timeoutMs, maxOutputBytes } = request;
  const input = stdin.kind === 'none' ? '{"kind":"none"}' : JSON.stringify(stdin);
  const more = overrides === undefined ? '' : `,"overrides":${JSON.stringify(overrides)}`;
  return (
    `["taken",${number},{"text":${JSON.stringify(text)},"background":${background},"origin":${originText(request.origin)},` +
    `"stdin":${input}${more}${timeoutMs === undefined ? '' : `,"timeoutMs":${timeoutMs}`},"maxOutputBytes":${maxOutputBytes}}]`
  );
}

function beginning({ number, startedAt, startedMonotonic }: Command, slot: Slot): string {
  const monotonic = Math.round(startedMonotonic + monotonicZero);
  return `["began",${number},{"slot":${slot.number},"startedAt":${digitsOf(startedAt)},"monotonic":${monotonic}}]`;
}

function chunk(number: number, stream: StreamName, size: number, logEnd: number, time: number): string {
  return `["chunk",${number},"${stream}",${size},${logEnd},${digitsOf(time)}]`;
}

function ending({ number, end, tookMs, startedAt, output }: Command): string {
  const times = `{"tookMs":${tookMs},"startedAt":${digitsOf(startedAt)}}`;
  return `["ended",${number},${endText(end)},${times},${totalsText(output)}]`;
}

function stopping(number: number, output: CommandOutput): string {
  return `["log-stopped",${number},${totalsText(output)}]`;
}

function totalsText({ bytes, unlogged, log }: CommandOutput): string {
  const stopped = log.stopped === undefined ? '' : `,"stopped":${JSON.stringify(log.stopped)}`;
  return `{"stdout":${bytes.stdout},"stderr":${bytes.stderr},"unlogged":${unlogged}${stopped}}`;
}

function endText(end: Ending | undefined): string {
  if (end === undefined) return endText({ outcome: 'cancelled', exitCode: null, signal: null, cwd: '', notes: [] });
  const { outcome, exitCode, signal, cwd, notes, heldOpenBy } = end;
  if (notes.length > 0 || heldOpenBy !== undefined) return JSON.stringify(end);
  const by = signal === null ? 'null' : `"${signal}"`;
  return `{"outcome":"${outcome}","exitCode":${exitCode},"signal":${by},"cwd":${cwdText(cwd)},"notes":[]}`;
}

/** A text in quotes; mostly it is the same as the last time. */
function quotedOnce(): (text: string) => string {
  let last = '';
  let quoted = '""';
  return (text) => {
    if (text !== last) {
      last = text;
      quoted = JSON.stringify(text);
    }
    return quoted;
  };
}

const originText = quotedOnce();
const cwdText = quotedOnce();

function freeing(number: number): string {
  return `["freed",${number}]`;
}
