import { isUtf8 } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { failure } from '../../protocol/errors';
import type { Params, Result } from '../../protocol/methods';
import type { OutputChunk, StreamName } from '../../protocol/values';
import type { ChunkPlace } from './chunk-index';
import type { CommandOutput } from './command-output';
import { encodeBytes, incompleteTail } from './text';

const defaultMaxBytes = 1024 * 1024;
const newline = 0x0a;

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

function fromCursor(output: CommandOutput, query: Query): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  const from = Math.max(1, query.fromSeq ?? 1);
  let room = query.maxBytes ?? defaultMaxBytes;
  let droppedBytes = from < index.first ? index.droppedBytes : 0;
  let next = Math.max(from, index.first);
  for (let place = index.place(next); place !== undefined; place = index.place(next)) {
    if (wanted(query, place.stream)) {
      const bytes = output.read(place);
      if (bytes.length > room && chunks.length > 0) break;
      const kept = bytes.length > room ? bytes.subarray(0, room - incompleteTail(bytes.subarray(0, room))) : bytes;
      droppedBytes += place.size - kept.length;
      room -= kept.length;
      chunks.push(asChunk(place, kept));
    }
    next++;
  }
  return { chunks, nextSeq: next, droppedBytes: droppedBytes + (next === index.next ? output.unlogged : 0) };
}

/** Reads backwards until it has enough lines. */
function tail(output: CommandOutput, query: Query, lines: number): Answer {
  const { index } = output;
  const chunks: OutputChunk[] = [];
  let isLast = true;
  let droppedBytes = 0;
  let missing = lines;
  let room = query.maxBytes ?? defaultMaxBytes;
  for (let seq = index.next - 1; seq >= index.first && missing > 0 && room > 0; seq--) {
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
    const kept = bytes.subarray(Math.max(missing === 0 ? at + 1 : 0, bytes.length - room));
    room -= kept.length;
    if (kept.length > 0) chunks.unshift(asChunk(place, kept));
  }
  return { chunks, nextSeq: index.next, droppedBytes };
}

async function grep(output: CommandOutput, query: Query, pattern: RegExp): Promise<Answer> {
  const { index } = output;
  const found: OutputChunk[] = [];
  const partial: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
  let droppedBytes = 0;
  let room = query.maxBytes ?? defaultMaxBytes;
  const end = index.next;
  const keep = (place: ChunkPlace, line: Buffer) => {
    room -= line.length;
    if (room < 0 && query.tailLines === undefined) droppedBytes += line.length;
    else found.push(asChunk(place, line));
    if (query.tailLines !== undefined && found.length > query.tailLines) found.shift();
  };
  const lastPlace: Partial<Record<StreamName, ChunkPlace>> = {};
  for (let seq = Math.max(query.fromSeq ?? 1, index.first); seq < end; seq++) {
    const place = index.place(seq);
    if (place === undefined || !wanted(query, place.stream)) continue;
    lastPlace[place.stream] = place;
    const bytes = output.read(place);
    droppedBytes += place.size - bytes.length;
    const pieces = partial[place.stream];
    const whole = bytes.lastIndexOf(newline) + 1;
    if (whole > 0) matchLines(Buffer.concat([...pieces.splice(0), bytes.subarray(0, whole)]), pattern, place, keep);
    if (whole < bytes.length) pieces.push(bytes.subarray(whole));
    // A long log is searched in turns with everything else.
    if (seq % 64 === 0) await turn();
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    const place = lastPlace[stream];
    if (place !== undefined && partial[stream].length > 0) {
      matchLines(Buffer.concat(partial[stream]), pattern, place, keep);
    }
  }
  return { chunks: found, nextSeq: end, droppedBytes };
}

/** Whole lines at once: to decode each by itself would take ten times as long. */
function matchLines(
  bytes: Buffer,
  pattern: RegExp,
  place: ChunkPlace,
  keep: (place: ChunkPlace, line: Buffer) => void,
): void {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  for (let from = 0, next = 0; from < text.length; from = next) {
    const at = text.indexOf('\n', from);
    next = at < 0 ? text.length : at + 1;
    const end = at > from && text[at - 1] === '\r' ? at - 1 : at;
    if (pattern.test(text.slice(from, at < 0 ? next : end))) keep(place, Buffer.from(text.slice(from, next), encoding));
  }
}

const wanted = (query: Query, stream: StreamName) =>
  query.stream === undefined || query.stream === 'both' || query.stream === stream;

function asChunk({ seq, stream, time }: ChunkPlace, bytes: Buffer): OutputChunk {
  const { data, encoding } = encodeBytes(bytes);
  return encoding === 'utf8' ? { seq, stream, data, time } : { seq, stream, data, encoding, time };
}
