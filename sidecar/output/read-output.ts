import { isUtf8 } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { cursorWithin, splitCursor } from '../../protocol/cursor';
import { failure } from '../../protocol/errors';
import type { Params, Result } from '../../protocol/methods';
import type { OutputChunk, StreamName } from '../../protocol/values';
import type { ChunkPlace } from './chunk-index';
import type { CommandOutput } from './command-output';
import { cutHead, encodeBytes, incompleteTail } from './text';

const defaultMaxBytes = 1024 * 1024;
const newline = 0x0a;
/** So many bytes are looked through to count what has no room: lines without an end must not cost the whole log. */
const mostCounted = 1024 * 1024;
const mostForgotten = 10_000;
const longestCharacter = 4;

// One pattern with nested repetitions could otherwise hold up every session for hours: with this it is matched in linear time.
setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');

type Query = Params<'exec.output'>;
type Answer = Omit<Result<'exec.output'>, 'finished'>;

/** A user's regular expression, or an error that says what is wrong with it. */
export function compilePattern(pattern: string, field: string): RegExp {
  try {
    return new RegExp(pattern, 'm');
  } catch (error) {
    throw failure.invalidParams(`${field} is not a regular expression: ${(error as Error).message}`);
  }
}

/** Output so far: from a cursor on, the last lines, or the lines that match. */
export async function readOutput(output: CommandOutput, query: Query): Promise<Answer> {
  if (query.grep !== undefined) return grep(output, query, compilePattern(query.grep, 'grep'));
  if (query.tailLines !== undefined) return tail(output, query, query.tailLines);
  return fromCursor(output, query);
}

/** A first piece that is larger than `maxBytes` comes in parts, and the cursor points into it. */
function fromCursor(output: CommandOutput, query: Query): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  const { seq: from, bytesRead } = splitCursor(Math.max(1, query.fromSeq ?? 1));
  let room = query.maxBytes ?? defaultMaxBytes;
  let droppedBytes = from < index.first ? index.droppedBytes : 0;
  let next = Math.max(from, index.first);
  for (let place = index.place(next); place !== undefined; place = index.place(next)) {
    if (wanted(query, place.stream)) {
      const skipped = next === from ? bytesRead : 0;
      const whole = output.read(place);
      const bytes = whole.subarray(skipped);
      if (bytes.length > room && chunks.length > 0) break;
      const kept = beginningOf(bytes, room);
      if (kept.length < bytes.length) {
        return { chunks: [asChunk(place, kept)], nextSeq: cursorWithin(next, skipped + kept.length), droppedBytes };
      }
      droppedBytes += place.size - whole.length;
      room -= bytes.length;
      if (bytes.length > 0 || skipped === 0) chunks.push(asChunk(place, bytes));
    }
    next++;
  }
  return { chunks, nextSeq: next, droppedBytes: droppedBytes + (next === index.next ? output.unlogged : 0) };
}

/** Reads backwards until it has enough lines, or nothing more has room and enough was counted. */
function tail(output: CommandOutput, query: Query, lines: number): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  let isLast = true;
  let droppedBytes = 0;
  let missing = lines;
  let room = query.maxBytes ?? defaultMaxBytes;
  let toCount = mostCounted;
  for (let seq = index.next - 1; seq >= index.first && missing > 0 && toCount > 0; seq--) {
    const place = index.place(seq);
    if (place === undefined || !wanted(query, place.stream)) continue;
    const bytes = output.read(place);
    droppedBytes += place.size - bytes.length;
    // The newline at the very end ends the last line and begins none.
    let at = isLast && bytes.at(-1) === newline ? bytes.length - 1 : bytes.length;
    isLast = false;
    while (missing > 0 && at > 0) {
      at = bytes.lastIndexOf(newline, at - 1);
      if (at >= 0) missing--;
    }
    const asked = bytes.subarray(missing === 0 ? at + 1 : 0);
    const kept = endOf(asked, room);
    // Once something was left out nothing before it is shown, even if it would have room.
    room = kept.length < asked.length ? 0 : room - kept.length;
    droppedBytes += asked.length - kept.length;
    if (room === 0) toCount -= bytes.length;
    if (kept.length > 0) chunks.push(asChunk(place, kept));
  }
  return { chunks: chunks.reverse(), nextSeq: index.next, droppedBytes };
}

/** The first bytes, at most `room`, that do not end within a character, and at least one character. */
function beginningOf(bytes: Buffer, room: number): Buffer {
  if (bytes.length <= room) return bytes;
  const length = room - incompleteTail(bytes.subarray(0, room));
  return bytes.subarray(0, length > 0 ? length : Math.min(longestCharacter, room + cutHead(bytes.subarray(room))));
}

/** The last bytes, at most `room`, that do not begin within a character. */
function endOf(bytes: Buffer, room: number): Buffer {
  const from = bytes.length - room;
  if (from <= 0) return bytes;
  const end = bytes.subarray(from);
  return incompleteTail(bytes.subarray(0, from)) === 0 ? end : end.subarray(cutHead(end));
}

async function grep(output: CommandOutput, query: Query, pattern: RegExp): Promise<Answer> {
  const { index } = output;
  const maxBytes = query.maxBytes ?? defaultMaxBytes;
  const found = query.tailLines === undefined ? new FirstLines(maxBytes) : new LastLines(maxBytes, query.tailLines);
  const partial: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
  let lostBytes = 0;
  const end = index.next;
  const lastPlace: Partial<Record<StreamName, ChunkPlace>> = {};
  for (let seq = Math.max(query.fromSeq ?? 1, index.first); seq < end; seq++) {
    const place = index.place(seq);
    if (place === undefined || !wanted(query, place.stream)) continue;
    lastPlace[place.stream] = place;
    const bytes = output.read(place);
    lostBytes += place.size - bytes.length;
    const pieces = partial[place.stream];
    const whole = bytes.lastIndexOf(newline) + 1;
    if (whole > 0) matchLines(Buffer.concat([...pieces.splice(0), bytes.subarray(0, whole)]), pattern, place, found);
    if (whole < bytes.length) pieces.push(bytes.subarray(whole));
    // A long log is searched in turns with everything else.
    if (seq % 64 === 0) await turn();
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    const place = lastPlace[stream];
    if (place !== undefined && partial[stream].length > 0) {
      matchLines(Buffer.concat(partial[stream]), pattern, place, found);
    }
  }
  return { chunks: found.chunks(), nextSeq: end, droppedBytes: lostBytes + found.droppedBytes };
}

/** Lines that match, as many as have room, and the bytes of those that have none. */
interface FoundLines {
  readonly droppedBytes: number;
  add(place: ChunkPlace, line: Buffer): void;
  chunks(): OutputChunk[];
}

class FirstLines implements FoundLines {
  droppedBytes = 0;
  private readonly found: OutputChunk[] = [];

  constructor(private room: number) {}

  add(place: ChunkPlace, line: Buffer): void {
    this.room -= line.length;
    if (this.room < 0) this.droppedBytes += line.length;
    else this.found.push(asChunk(place, line));
  }

  chunks(): OutputChunk[] {
    return this.found;
  }
}

/** Of the last `count` lines the newest that have room. */
class LastLines implements FoundLines {
  droppedBytes = 0;
  private lines: { place: ChunkPlace; size: number; line: Buffer | undefined }[] = [];
  /** The oldest line that is among the last, and the oldest of them that has room. */
  private oldest = 0;
  private oldestKept = 0;

  constructor(
    private room: number,
    private readonly count: number,
  ) {}

  add(place: ChunkPlace, line: Buffer): void {
    this.lines.push({ place, size: line.length, line });
    this.room -= line.length;
    while (this.room < 0) this.dropOldestKept();
    if (this.lines.length - this.oldest > this.count) this.forgetOldest();
  }

  chunks(): OutputChunk[] {
    return this.lines
      .slice(this.oldestKept)
      .flatMap(({ place, line }) => (line === undefined ? [] : [asChunk(place, line)]));
  }

  private dropOldestKept(): void {
    const dropped = this.lines[this.oldestKept++];
    if (dropped === undefined) return;
    dropped.line = undefined;
    this.room += dropped.size;
    this.droppedBytes += dropped.size;
  }

  /** It is not asked for, so it is not counted either. */
  private forgetOldest(): void {
    if (this.oldest === this.oldestKept) this.dropOldestKept();
    this.droppedBytes -= this.lines[this.oldest++]?.size ?? 0;
    // Now and then, because to take the first away moves all others.
    if (this.oldest < mostForgotten) return;
    this.lines = this.lines.slice(this.oldest);
    this.oldestKept -= this.oldest;
    this.oldest = 0;
  }
}

/** Whole lines at once: to decode each by itself would take ten times as long. */
function matchLines(bytes: Buffer, pattern: RegExp, place: ChunkPlace, found: FoundLines): void {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  for (let from = 0, next = 0; from < text.length; from = next) {
    const at = text.indexOf('\n', from);
    next = at < 0 ? text.length : at + 1;
    const end = at > from && text[at - 1] === '\r' ? at - 1 : at;
    if (pattern.test(text.slice(from, at < 0 ? next : end)))
      found.add(place, Buffer.from(text.slice(from, next), encoding));
  }
}

const wanted = (query: Query, stream: StreamName) =>
  query.stream === undefined || query.stream === 'both' || query.stream === stream;

function asChunk({ seq, stream, time }: ChunkPlace, bytes: Buffer): OutputChunk {
  const { data, encoding } = encodeBytes(bytes);
  return encoding === 'utf8' ? { seq, stream, data, time } : { seq, stream, data, encoding, time };
}
