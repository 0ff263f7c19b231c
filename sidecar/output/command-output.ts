import type { StreamName } from '../../protocol/values';
import { reach } from '../checkpoints';
import { Capture } from './capture';
import { ChunkIndex, type ChunkPlace, type IndexedPiece } from './chunk-index';
import type { CommandLog } from './command-log';
import { recordAt } from './prefix-log';
import { incompleteTail } from './text';

/** Told of every piece of output, synchronously; `data` must be copied to be kept. Without a number it is in no log. */
export interface OutputListener {
  onOutput?(stream: StreamName, data: Uint8Array, seq: number | undefined): void;
  /** No more will come: both streams have ended. */
  onEnd?(): void;
}

/** Told of every piece before anybody else is, and whether somebody else will be told at once. */
export interface OutputNotes {
  indexed(stream: StreamName, size: number, logEnd: number, time: number, isAwaited: boolean): void;
  /** The log takes no more, so only the sums tell of this piece. */
  unlogged(output: CommandOutput, size: number, isAwaited: boolean): void;
}

const empty = new Uint8Array(0);
const nobody: readonly OutputListener[] = [];

/** What is kept in memory of both streams; nothing of one on which nothing was printed. */
export type Captures = Record<StreamName, Capture | undefined>;

/** Everything one command prints: logged, counted, the ends of it kept in memory, and passed to whoever listens. */
export class CommandOutput {
  readonly index = new ChunkIndex();
  readonly bytes: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  /** Output that is in no log, because a limit was reached. */
  unlogged = 0;
  ended = false;
  lastOutputAt = performance.now();
  private captures: Captures | undefined = { stdout: undefined, stderr: undefined };
  /** Bytes of a character whose rest is still to come, so that no piece ends in the middle of one. */
  private readonly held: Record<StreamName, Uint8Array> = { stdout: empty, stderr: empty };
  private listeners = nobody;

  constructor(
    readonly log: CommandLog,
    private readonly captureLimit: number,
    private readonly notes?: OutputNotes,
  ) {}

  /** The cursor behind everything that was printed. What is in no log has no pieces, so its bytes are counted instead. */
  get cursor(): number {
    return this.index.next + this.unlogged;
  }

  /** How much of what is in no log was printed behind a cursor. */
  unloggedAfter(cursor: number): number {
    return Math.max(0, this.unlogged - Math.max(0, Math.floor(cursor) - this.index.next));
  }

  /** What was printed without what is held back: what the log was given. */
  get passed(): Record<StreamName, number> {
    const { bytes, held } = this;
    return { stdout: bytes.stdout - held.stdout.length, stderr: bytes.stderr - held.stderr.length };
  }

  /** The ends of both streams, as long as they are in memory. */
  get captured(): Captures | undefined {
    return this.captures;
  }

  write(stream: StreamName, data: Uint8Array): void {
    reach('output-read');
    this.bytes[stream] += data.length;
    this.lastOutputAt = performance.now();
    const held = this.held[stream];
    const whole = held.length === 0 ? data : Buffer.concat([held, data]);
    const incomplete = incompleteTail(whole);
    this.held[stream] = incomplete === 0 ? empty : Uint8Array.from(whole.subarray(whole.length - incomplete));
    this.pass(stream, incomplete === 0 ? whole : whole.subarray(0, whole.length - incomplete));
  }

  /** Passes on what was held back: the moment is over in which its rest could have come. */
  flush(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const held = this.held[stream];
      this.held[stream] = empty;
      this.pass(stream, held);
    }
  }

  /** Both streams have ended. */
  end(): void {
    if (this.ended) return;
    this.flush();
    this.ended = true;
    for (const listener of this.listeners) listener.onEnd?.();
    this.listeners = nobody;
  }

  listen(listener: OutputListener): () => void {
    this.listeners = [...this.listeners, listener];
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
    };
  }

  /** One piece as it was printed. */
  read(place: ChunkPlace): Buffer {
    const log = this.log.read(place.from, place.to);
    const pieces: Uint8Array[] = [];
    for (let at = 0; ; ) {
      const record = recordAt(log, at);
      if (record === undefined) break;
      pieces.push(record.data);
      at = record.end;
    }
    return Buffer.concat(pieces);
  }

  /** Takes up an output that was begun elsewhere, of which the log alone has the bytes; some pieces are not yet noted. */
  resume(noted: Iterable<IndexedPiece>, found: Iterable<IndexedPiece>): void {
    this.release();
    const take = ({ stream, size, logEnd, time }: IndexedPiece) => {
      this.bytes[stream] += size;
      this.index.add(stream, size, logEnd, time);
    };
    for (const piece of noted) take(piece);
    for (const piece of found) {
      take(piece);
      this.notes?.indexed(piece.stream, piece.size, piece.logEnd, piece.time, false);
    }
  }

  /** Gives the memory back; from now on the log alone has the output. */
  release(): void {
    this.captures = undefined;
  }

  private capture(stream: StreamName, data: Uint8Array): void {
    const { captures } = this;
    if (captures === undefined) return;
    captures[stream] ??= new Capture(this.captureLimit);
    captures[stream].append(data);
  }

  private pass(stream: StreamName, data: Uint8Array): void {
    if (data.length === 0) return;
    this.capture(stream, data);
    const end = this.log.append(stream, data);
    reach('output-logged');
    const isAwaited = this.listeners.length > 0;
    let seq: number | undefined;
    if (end === undefined) {
      this.unlogged += data.length;
      this.notes?.unlogged(this, data.length, isAwaited);
    } else {
      const time = Date.now();
      seq = this.index.add(stream, data.length, end, time);
      this.notes?.indexed(stream, data.length, end, time, isAwaited);
    }
    for (const listener of this.listeners) listener.onOutput?.(stream, data, seq);
  }
}
