import type { StreamName } from '../../protocol/values';

/** Where one piece of output lies in the log. */
export interface ChunkPlace {
  seq: number;
  stream: StreamName;
  from: number;
  to: number;
  /** Bytes of output in it. */
  size: number;
  time: number;
}

/** One piece of output as it is noted. */
export interface IndexedPiece {
  stream: StreamName;
  size: number;
  logEnd: number;
  time: number;
}

const mostChunks = 65_536;
const factsEach = 4;
/** Of so many dropped pieces it is remembered together what they were. */
const markEach = 4096;

export type StreamBytes = Readonly<Record<StreamName, number>>;

const nothing: StreamBytes = { stdout: 0, stderr: 0 };

/**
 * Numbers the pieces of a command's output, from 1, and knows where each lies in its log. Only the newest are kept; what
 * was before them can still be read from the log, though no longer by its number.
 */
export class ChunkIndex {
  /** The number the next piece will get. */
  next = 1;
  /** The oldest number that is kept. */
  first = 1;
  /** Bytes of output before the oldest piece that is kept. */
  dropped = nothing;
  /** Bytes of output before some of the pieces that were dropped. */
  private marks: { seq: number; before: StreamBytes }[] = [];
  /** Of each piece where it ends, its size, its time and its stream, one after the other. */
  private facts: number[] = [];
  private start = 0;

  add(stream: StreamName, size: number, logEnd: number, time: number): number {
    if (this.facts.length >= mostChunks * factsEach) this.drop(mostChunks / 2);
    this.facts.push(logEnd, size, time, stream === 'stdout' ? 1 : 2);
    return this.next++;
  }

  /** Where the log of the oldest piece that is kept begins. */
  get logStart(): number {
    return this.start;
  }

  /** Begins where an earlier index had come to when it dropped its oldest pieces. */
  resumeAt(first: number, dropped: StreamBytes, logStart: number): void {
    this.first = first;
    this.next = first;
    this.dropped = dropped;
    this.marks = [{ seq: first, before: dropped }];
    this.start = logStart;
  }

  /** Bytes of output before a piece. Of one that was dropped it may be a few thousand pieces' less, but never more. */
  before(seq: number): StreamBytes {
    if (seq < this.first) return this.marks.findLast((mark) => mark.seq <= seq)?.before ?? nothing;
    return this.sumUpTo((seq - this.first) * factsEach);
  }

  /** Bytes of dropped output from a piece on. */
  droppedFrom(seq: number): StreamBytes {
    if (seq >= this.first) return nothing;
    const { stdout, stderr } = this.before(seq);
    return { stdout: this.dropped.stdout - stdout, stderr: this.dropped.stderr - stderr };
  }

  /** Every piece that is kept, the oldest first. */
  *pieces(): Generator<IndexedPiece> {
    for (let at = 0; at < this.facts.length; at += factsEach) yield pieceAt(this.facts, at);
  }

  place(seq: number): ChunkPlace | undefined {
    return placeIn(this.facts, this.first, this.start, seq);
  }

  /** The places of all pieces there are now, from a number on. Those that are dropped while somebody goes through them are still told. */
  *places(from: number): Generator<ChunkPlace> {
    const { facts, first, start, next } = this;
    for (let seq = Math.max(from, first); seq < next; seq++) {
      const place = placeIn(facts, first, start, seq);
      if (place !== undefined) yield place;
    }
  }

  /** How many pieces are kept. */
  get count(): number {
    return this.facts.length / factsEach;
  }

  /** Drops all but so many; how many that were. */
  keepNewest(count: number): number {
    const dropped = Math.max(0, this.count - count);
    if (dropped > 0) this.drop(dropped);
    return dropped;
  }

  private drop(count: number): void {
    const end = count * factsEach;
    for (let seq = Math.ceil(this.first / markEach) * markEach; seq < this.first + count; seq += markEach)
      this.marks.push({ seq, before: this.before(seq) });
    this.dropped = this.sumUpTo(end);
    this.start = this.facts[end - factsEach] as number;
    this.facts = this.facts.slice(end);
    this.first += count;
  }

  private sumUpTo(end: number): StreamBytes {
    const sum = { ...this.dropped };
    for (let at = 0; at < Math.min(end, this.facts.length); at += factsEach)
      sum[this.facts[at + 3] === 1 ? 'stdout' : 'stderr'] += this.facts[at + 1] as number;
    return sum;
  }
}

function placeIn(facts: readonly number[], first: number, start: number, seq: number): ChunkPlace | undefined {
  const at = (seq - first) * factsEach;
  if (at < 0 || at >= facts.length) return undefined;
  const { stream, size, logEnd, time } = pieceAt(facts, at);
  const from = at === 0 ? start : (facts[at - factsEach] as number);
  return { seq, stream, from, to: logEnd, size, time };
}

function pieceAt(facts: readonly number[], at: number): IndexedPiece {
  const [logEnd, size, time] = [facts[at] as number, facts[at + 1] as number, facts[at + 2] as number];
  return { stream: facts[at + 3] === 1 ? 'stdout' : 'stderr', size, logEnd, time };
}
