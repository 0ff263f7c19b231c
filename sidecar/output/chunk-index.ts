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
  droppedBytes = 0;
  /** Of each piece where it ends, its size, its time and its stream, one after the other. */
  private facts: number[] = [];
  private start = 0;

  add(stream: StreamName, size: number, logEnd: number, time: number): number {
    if (this.facts.length >= mostChunks * factsEach) this.forgetHalf();
    this.facts.push(logEnd, size, time, stream === 'stdout' ? 1 : 2);
    return this.next++;
  }

  /** Where the log of the oldest piece that is kept begins. */
  get logStart(): number {
    return this.start;
  }

  /** Begins where an earlier index had come to when it dropped its oldest pieces. */
  resumeAt(first: number, droppedBytes: number, logStart: number): void {
    this.first = first;
    this.next = first;
    this.droppedBytes = droppedBytes;
    this.start = logStart;
  }

  /** Every piece that is kept, the oldest first. */
  *pieces(): Generator<IndexedPiece> {
    for (let at = 0; at < this.facts.length; at += factsEach) yield this.piece(at);
  }

  place(seq: number): ChunkPlace | undefined {
    const at = (seq - this.first) * factsEach;
    if (at < 0 || at >= this.facts.length) return undefined;
    const { stream, size, logEnd, time } = this.piece(at);
    const from = at === 0 ? this.start : (this.facts[at - factsEach] as number);
    return { seq, stream, from, to: logEnd, size, time };
  }

  private piece(at: number): IndexedPiece {
    const [logEnd = 0, size = 0, time = 0, stream] = this.facts.slice(at, at + factsEach);
    return { stream: stream === 1 ? 'stdout' : 'stderr', size, logEnd, time };
  }

  private forgetHalf(): void {
    const count = mostChunks / 2;
    const end = count * factsEach;
    for (let at = 0; at < end; at += factsEach) this.droppedBytes += this.facts[at + 1] as number;
    this.start = this.facts[end - factsEach] as number;
    this.facts = this.facts.slice(end);
    this.first += count;
  }
}
