import type { OutputChunk, StreamName } from '../values';
import type { ToolClient } from './client';
import { byteLength, decodeBytes, plainText } from './plain-text';

/** No piece of output is larger. */
const largestPiece = 128 * 1024;
/** Progress lines shrink: so much more raw output than shown text is looked at. */
export const rawPerShown = 16;
const mostLines = 1_000_000;

export interface Piece {
  stream: StreamName;
  text: string;
}

/** A stream as a model gets it: whole, or its beginning and end. */
export interface Shown {
  stream: StreamName;
  head: string;
  /** Where the middle was left out. */
  cut?: { tail: string; missingBytes: number; cursor: string };
  endsWithNewline: boolean;
}

export interface Printed {
  commandId: string;
  stdoutBytes: number;
  stderrBytes: number;
  /** Given where the whole text is at hand. */
  stdout?: string | undefined;
  stderr?: string | undefined;
}

/** Both streams within `budget` characters; what one does not need the other may use. */
export async function showOutput(client: ToolClient, printed: Printed, budget: number): Promise<Shown[]> {
  const texts = { stdout: await wholeText(client, printed, 'stdout', budget), stderr: '' as string | undefined };
  texts.stderr = await wholeText(client, printed, 'stderr', budget);
  const needs = (stream: StreamName) => texts[stream]?.length ?? budget;
  const share = (other: StreamName) => budget - Math.min(needs(other), Math.floor(budget / 2));
  const rooms = { stdout: share('stderr'), stderr: share('stdout') };
  const shown: Shown[] = [];
  for (const stream of ['stdout', 'stderr'] as const) {
    const text = texts[stream];
    if (text !== undefined && text.length <= rooms[stream]) {
      shown.push({ stream, head: text, endsWithNewline: text === '' || text.endsWith('\n') });
    } else {
      shown.push(await headAndTail(client, printed, stream, rooms[stream]));
    }
  }
  return shown;
}

/** Undefined where it is too much to look at. */
async function wholeText(client: ToolClient, printed: Printed, stream: StreamName, budget: number) {
  const bytes = stream === 'stdout' ? printed.stdoutBytes : printed.stderrBytes;
  if (bytes === 0) return '';
  const known = printed[stream];
  if (known !== undefined) return plainText(known);
  if (bytes > budget * rawPerShown) return undefined;
  const { chunks, droppedBytes } = await client.request('exec.output', {
    commandId: printed.commandId,
    stream,
    maxBytes: bytes + largestPiece,
  });
  return droppedBytes > 0 ? undefined : plainText(joined(chunks));
}

async function headAndTail(
  client: ToolClient,
  { commandId, stdoutBytes, stderrBytes }: Printed,
  stream: StreamName,
  room: number,
): Promise<Shown> {
  const half = Math.max(1, Math.floor(room / 2));
  const { pieces, cursor } = await readOn(client, { commandId, stream, cursor: undefined, room: half });
  const head = pieces.map(({ text }) => text).join('');
  // No line is shorter than a byte; to ask for more would only have more counted.
  const tailLines = Math.min(mostLines, half + 1);
  const { chunks } = await client.request('exec.output', { commandId, stream, tailLines, maxBytes: half });
  const tail = fromLineStart(joined(chunks));
  const total = stream === 'stdout' ? stdoutBytes : stderrBytes;
  const missingBytes = Math.max(0, total - byteLength(head) - byteLength(tail));
  return {
    stream,
    head: plainText(head),
    cut: { tail: plainText(tail), missingBytes, cursor },
    endsWithNewline: tail.endsWith('\n'),
  };
}

export interface Reading {
  commandId: string;
  stream: StreamName | 'both';
  cursor: string | undefined;
  /** In characters. */
  room: number;
}

export interface ReadOn {
  pieces: Piece[];
  cursor: string;
  /** There is nothing behind the cursor yet. */
  atEnd: boolean;
  finished: boolean;
  droppedBytes: number;
}

/** Raw output from a cursor on. A cursor is a piece's number and how many characters of it were read: "12" or "12.800". */
export async function readOn(client: ToolClient, { commandId, stream, cursor, room }: Reading): Promise<ReadOn> {
  const [seq = 1, skipped = 0] = (cursor ?? '1').split('.').map(Number);
  const answer = await client.request('exec.output', {
    commandId,
    stream,
    fromSeq: seq,
    maxBytes: room * 4 + largestPiece,
  });
  const pieces: Piece[] = [];
  let left = room;
  for (const chunk of answer.chunks) {
    const from = chunk.seq === seq ? skipped : 0;
    const text = decodeBytes(chunk.data, chunk.encoding).slice(from);
    if (text.length > left) {
      const kept = toLineEnd(text, left);
      if (kept !== '') pieces.push({ stream: chunk.stream, text: kept });
      const next = `${chunk.seq}.${from + kept.length}`;
      return { pieces, cursor: next, atEnd: false, finished: answer.finished, droppedBytes: answer.droppedBytes };
    }
    if (text !== '') pieces.push({ stream: chunk.stream, text });
    left -= text.length;
  }
  const { nextSeq, finished, droppedBytes } = answer;
  return {
    pieces,
    cursor: String(nextSeq),
    atEnd: await isEnd(client, commandId, stream, nextSeq),
    finished,
    droppedBytes,
  };
}

async function isEnd(client: ToolClient, commandId: string, stream: StreamName | 'both', fromSeq: number) {
  const { chunks } = await client.request('exec.output', { commandId, stream, fromSeq, maxBytes: 1 });
  return chunks.length === 0;
}

export const joined = (chunks: readonly OutputChunk[]) =>
  chunks.map(({ data, encoding }) => decodeBytes(data, encoding)).join('');

/** As much as fits, to the end of a line where that costs no more than half of it. */
function toLineEnd(text: string, room: number): string {
  const lineEnd = text.lastIndexOf('\n', room - 1) + 1;
  if (lineEnd > room / 2) return text.slice(0, lineEnd);
  const splitsPair = /[\ud800-\udbff]$/.test(text.slice(0, room));
  return text.slice(0, splitsPair ? room - 1 : room);
}

function fromLineStart(text: string): string {
  const lineStart = text.indexOf('\n') + 1;
  return lineStart < text.length / 2 ? text.slice(lineStart) : text;
}
