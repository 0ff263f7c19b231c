import { cursorWithin, splitCursor } from '../../protocol/cursor';
import type { OutputChunk } from '../../protocol/values';
import type { CommandOutput } from './command-output';
import { matchingLines } from './matching-lines';
import { type Answer, asChunk, defaultMaxBytes, type Query, wanted, wantedBytes } from './output-query';
import { Pattern } from './pattern';
import { cutHead, incompleteTail } from './text';

const newline = 0x0a;
/** So many bytes are looked through to count what has no room: lines without an end must not cost the whole log. */
const mostCounted = 1024 * 1024;
const longestCharacter = 4;

/** Output so far: from a cursor on, the last lines, or the lines that match. */
export async function readOutput(output: CommandOutput, query: Query): Promise<Answer> {
  if (query.grep !== undefined) return matchingLines(output, query, new Pattern(query.grep, 'grep'));
  if (query.tailLines !== undefined) return tail(output, query, query.tailLines);
  return fromCursor(output, query);
}

/** A first piece that is larger than `maxBytes` comes in parts, and the cursor points into it. */
function fromCursor(output: CommandOutput, query: Query): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  const { seq: from, bytesRead } = splitCursor(Math.max(1, query.fromSeq ?? 1));
  let room = query.maxBytes ?? defaultMaxBytes;
  let droppedBytes = wantedBytes(query, index.droppedFrom(from));
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
  if (next < index.next) return { chunks, nextSeq: next, droppedBytes };
  const nextSeq = Math.max(next, output.cursor);
  return { chunks, nextSeq, droppedBytes: droppedBytes + output.unloggedAfter(from) };
}

/** Reads backwards until it has enough lines, or nothing more has room and enough was counted. */
function tail(output: CommandOutput, query: Query, lines: number): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  let isLast = true;
  // What is in no log was printed last, so it is among what was asked for.
  let droppedBytes = lines > 0 ? output.unlogged : 0;
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
  if (missing > 0) droppedBytes += Math.min(wantedBytes(query, index.dropped), Math.max(0, toCount));
  return { chunks: chunks.reverse(), nextSeq: output.cursor, droppedBytes };
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
