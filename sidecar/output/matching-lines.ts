import { isUtf8 } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { splitCursor } from '../../protocol/cursor';
import type { OutputChunk } from '../../protocol/values';
import type { ChunkPlace } from './chunk-index';
import type { CommandOutput } from './command-output';
import { type Answer, asChunk, defaultMaxBytes, type Query, wanted, wantedBytes } from './output-query';
import type { Pattern } from './pattern';
import { incompleteTail } from './text';

const newline = 0x0a;
/** Of a longer line this is what is looked at. With its newline there is room for it where nobody asked for less. */
const longestLine = defaultMaxBytes - 1;
/** A long log is searched in turns with everything else: after so much time, or so many bytes. */
const longestTurnMs = 5;
const mostEachTurn = 1024 * 1024;
/** Fewer are not worth moving the others. */
const fewestForgotten = 1000;

/** The lines that match: the oldest that have room, or of the last so many the newest. */
export async function matchingLines(output: CommandOutput, query: Query, pattern: Pattern): Promise<Answer> {
  const { index } = output;
  const maxBytes = query.maxBytes ?? defaultMaxBytes;
  const found = query.tailLines === undefined ? new FirstLines(maxBytes) : new LastLines(maxBytes, query.tailLines);
  const lines = { stdout: new WholeLines(), stderr: new WholeLines() };
  const { seq: from, bytesRead } = splitCursor(Math.max(1, query.fromSeq ?? 1));
  let lostBytes = output.unloggedAfter(from) + wantedBytes(query, index.droppedFrom(from));
  const nextSeq = output.cursor;
  let blocks: Block[] = [];
  let size = 0;
  let turnEnd = performance.now() + longestTurnMs;
  for (const place of index.places(from)) {
    if (!wanted(query, place.stream)) continue;
    const read = output.read(place);
    lostBytes += place.size - read.length;
    const block = lines[place.stream].after(place, place.seq === from ? read.subarray(bytesRead) : read);
    if (block !== undefined) blocks.push(block);
    size += read.length;
    if (size < mostEachTurn && performance.now() < turnEnd) continue;
    findIn(blocks, pattern, found);
    blocks = [];
    size = 0;
    await turn();
    turnEnd = performance.now() + longestTurnMs;
  }
  blocks.push(...lines.stdout.rest(), ...lines.stderr.rest());
  findIn(blocks, pattern, found);
  const droppedBytes = lostBytes + lines.stdout.cutBytes + lines.stderr.cutBytes + found.droppedBytes;
  return { chunks: found.chunks(), nextSeq, droppedBytes };
}

/** Whole lines that end in a piece. */
interface Block {
  place: ChunkPlace;
  bytes: Buffer;
}

/** Puts the pieces of a stream together to whole lines. Of a line that is too long it keeps the beginning. */
class WholeLines {
  /** Of lines that are too long. */
  cutBytes = 0;
  private begun: Buffer[] = [];
  private length = 0;
  private isCut = false;
  private lastPlace: ChunkPlace | undefined;

  /** The lines that end in the next piece. */
  after(place: ChunkPlace, bytes: Buffer): Block | undefined {
    this.lastPlace = place;
    const lineEnd = bytes.indexOf(newline);
    if (lineEnd < 0) {
      this.goOn(bytes);
      return undefined;
    }
    this.goOn(bytes.subarray(0, lineEnd));
    const wholeEnd = bytes.lastIndexOf(newline) + 1;
    // Also a line that was cut keeps its newline: another one may be shown behind it.
    const whole = Buffer.concat([...this.begun, bytes.subarray(lineEnd, wholeEnd)]);
    this.begun = [];
    this.length = 0;
    this.isCut = false;
    this.goOn(bytes.subarray(wholeEnd));
    return { place, bytes: whole };
  }

  /** A line that has no end yet. */
  rest(): Block[] {
    return this.lastPlace === undefined || this.length === 0
      ? []
      : [{ place: this.lastPlace, bytes: Buffer.concat(this.begun) }];
  }

  private goOn(bytes: Buffer): void {
    const room = this.isCut ? 0 : longestLine - this.length;
    const end = bytes.length <= room ? bytes.length : room - incompleteTail(bytes.subarray(0, room));
    this.isCut ||= end < bytes.length;
    this.cutBytes += bytes.length - end;
    this.length += end;
    if (end > 0) this.begun.push(bytes.subarray(0, end));
  }
}

/** Lines of a block, all in the same encoding. */
interface Lines {
  text: string;
  encoding: 'utf8' | 'latin1';
}

function findIn(blocks: readonly Block[], pattern: Pattern, found: FoundLines): void {
  if (blocks.length === 0) return;
  const texts = blocks.map(({ bytes }) => decoded(bytes));
  const { expression } = pattern;
  const bounds = pattern.look(() =>
    texts.map((ofBlock) => ofBlock.map(({ text }) => boundsOfMatching(text, expression))),
  );
  for (const [block, { place }] of blocks.entries()) {
    const lines = (texts[block] ?? []).flatMap(({ text, encoding }, at) =>
      (bounds[block]?.[at] ?? []).map(([from, to]) => Buffer.from(text.slice(from, to), encoding)),
    );
    if (lines.length > 0) found.add(place, lines);
  }
}

/** Whole blocks at once: to decode each line by itself takes ten times as long, and only a block that is no text needs that. */
function decoded(block: Buffer): Lines[] {
  if (isUtf8(block)) return [{ text: block.toString('utf8'), encoding: 'utf8' }];
  const lines: Lines[] = [];
  for (let from = 0; from < block.length; ) {
    const end = block.indexOf(newline, from);
    const next = end < 0 ? block.length : end + 1;
    const line = block.subarray(from, next);
    const encoding = isUtf8(line) ? 'utf8' : 'latin1';
    const last = lines.at(-1);
    if (last?.encoding === encoding) last.text += line.toString(encoding);
    else lines.push({ text: line.toString(encoding), encoding });
    from = next;
  }
  return lines;
}

function boundsOfMatching(text: string, expression: RegExp): [from: number, to: number][] {
  const bounds: [number, number][] = [];
  for (let from = 0, next = 0; from < text.length; from = next) {
    const at = text.indexOf('\n', from);
    next = at < 0 ? text.length : at + 1;
    const end = at > from && text[at - 1] === '\r' ? at - 1 : at;
    if (expression.test(text.slice(from, at < 0 ? next : end))) bounds.push([from, next]);
  }
  return bounds;
}

/** Lines that match, as many as have room, and the bytes of those that have none. */
interface FoundLines {
  readonly droppedBytes: number;
  /** Of one piece. They become one chunk: a chunk for each line could be many times larger than the lines. */
  add(place: ChunkPlace, lines: readonly Buffer[]): void;
  chunks(): OutputChunk[];
}

class FirstLines implements FoundLines {
  droppedBytes = 0;
  private readonly found: OutputChunk[] = [];

  constructor(private room: number) {}

  add(place: ChunkPlace, lines: readonly Buffer[]): void {
    const kept = lines.filter((line) => this.hasRoom(line));
    if (kept.length > 0) this.found.push(asChunk(place, Buffer.concat(kept)));
  }

  chunks(): OutputChunk[] {
    return this.found;
  }

  /** Behind a line that has none no other has any. */
  private hasRoom({ length }: Buffer): boolean {
    this.room -= length;
    if (this.room < 0) this.droppedBytes += length;
    return this.room >= 0;
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

  add(place: ChunkPlace, lines: readonly Buffer[]): void {
    for (const line of lines) {
      this.lines.push({ place, size: line.length, line });
      this.room -= line.length;
      while (this.room < 0) this.dropOldestKept();
      if (this.lines.length - this.oldest > this.count) this.forgetOldest();
    }
  }

  chunks(): OutputChunk[] {
    const pieces = new Map<ChunkPlace, Buffer[]>();
    for (const { place, line } of this.lines.slice(this.oldestKept)) {
      if (line === undefined) continue;
      const ofPiece = pieces.get(place);
      if (ofPiece === undefined) pieces.set(place, [line]);
      else ofPiece.push(line);
    }
    return [...pieces].map(([place, lines]) => asChunk(place, Buffer.concat(lines)));
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
    // Now and then, because to take the first away moves all others: never more of them than there are to be taken away.
    if (this.oldest < Math.max(fewestForgotten, this.lines.length / 2)) return;
    this.lines = this.lines.slice(this.oldest);
    this.oldestKept -= this.oldest;
    this.oldest = 0;
  }
}
