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
  private ends: number[] = [];
  private sizes: number[] = [];
  private times: number[] = [];
  private streams: StreamName[] = [];
  private start = 0;

  add(stream: StreamName, size: number, logEnd: number, time: number): number {
    if (this.ends.length >= mostChunks) this.forgetHalf();
    this.ends.push(logEnd);
    this.sizes.push(size);
    this.times.push(time);
    this.streams.push(stream);
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
    for (let at = 0; at < this.ends.length; at++) {
      yield {
        stream: this.streams[at] as StreamName,
        size: this.sizes[at] as number,
        logEnd: this.ends[at] as number,
        time: this.times[at] as number,
      };
    }
  }

  place(seq: number): ChunkPlace | undefined {
    const at = seq - this.first;
    const stream = this.streams[at];
    if (stream === undefined) return undefined;
    return {
      seq,
      stream,
      from: at === 0 ? this.start : (this.ends[at - 1] as number),
      to: this.ends[at] as number,
      size: this.sizes[at] as number,
      time: this.times[at] as number,
    };
  }

  private forgetHalf(): void {
    const count = mostChunks / 2;
    for (let at = 0; at < count; at++) this.droppedBytes += this.sizes[at] as number;
    this.start = this.ends[count - 1] as number;
    this.ends = this.ends.slice(count);
    this.sizes = this.sizes.slice(count);
    this.times = this.times.slice(count);
    this.streams = this.streams.slice(count);
    this.first += count;
  }
}
