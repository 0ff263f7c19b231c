import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { IndexedPiece } from '../output/chunk-index';
import type { ProcessIdentity } from '../processes/identity';
import { isPassing } from '../system-failure';
import {
  type JournalRecord,
  type OutputTotals,
  parseRecord,
  type SavedEnding,
  type SavedRequest,
  type SessionCondition,
  type SessionFoundation,
} from './journal-records';
import { unpacked } from './packed-pieces';

/** No session needs as much; to look through it would keep all others waiting. */
const longestJournal = 2 * 1024 * 1024 * 1024;
const blockBytes = 1024 * 1024;
const newline = 0x0a;

export interface SavedCommand {
  number: number;
  request: SavedRequest;
  began?: { slot: number; startedAt: number; monotonic: number };
  subshell?: ProcessIdentity;
  earlyInput: Buffer[];
  inputKeeper?: ProcessIdentity;
  inputEnded?: boolean;
  isBereft?: boolean;
  interrupted?: 'cancelled' | 'timed_out';
  dropped?: { first: number; stdout: number; stderr: number; logStart: number };
  chunks: IndexedPiece[];
  ended?: { end: SavedEnding; startedAt: number; tookMs: number };
  /** As they were last noted: once the log took no more, and at the end. */
  totals?: OutputTotals;
  isFreed: boolean;
}

/** A session as its journal tells it. */
export interface SavedSession {
  foundation: SessionFoundation;
  condition: SessionCondition;
  commands: SavedCommand[];
  nextNumber: number;
}

/**
 * Reads a journal; nothing if there is none, it is damaged where it matters, or its session was being destroyed. Throws if it
 * is there and cannot be read, which says nothing about whether its session lives.
 */
export function readSavedSession(path: string): SavedSession | undefined {
  let fd: number | undefined;
  try {
    fd = openIfThere(path);
    return fd === undefined || !isOwnFile(fd) ? undefined : sessionIn(wholeLines(fd));
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function sessionIn(lines: Iterable<string>): SavedSession | undefined {
  let foundation: SessionFoundation | undefined;
  let condition: SessionCondition | undefined;
  const commands = new Map<number, SavedCommand>();
  let nextNumber = 1;
  for (const line of lines) {
    const record = parseRecord(line);
    if (record === undefined) continue;
    if (record[0] === 'destroyed') return undefined;
    if (record[0] === 'session') foundation = record[2];
    else if (record[0] === 'condition') condition = record[1];
    else {
      nextNumber = Math.max(nextNumber, record[1] + 1);
      noteOf(record, commands);
    }
  }
  if (foundation === undefined || condition === undefined) return undefined;
  return { foundation, condition, commands: [...commands.values()], nextNumber };
}

type CommandRecord = Exclude<JournalRecord, ['session', ...unknown[]] | ['condition', ...unknown[]] | ['destroyed']>;

function noteOf(record: CommandRecord, commands: Map<number, SavedCommand>): void {
  const [kind, number] = record;
  if (kind === 'taken') {
    commands.set(number, { number, request: record[2], earlyInput: [], chunks: [], isFreed: false });
    return;
  }
  const command = commands.get(number);
  if (command === undefined) return;
  if (kind === 'began') command.began = record[2];
  else if (kind === 'subshell') command.subshell = record[2];
  else if (kind === 'input') command.earlyInput.push(Buffer.from(record[2], 'base64'));
  else if (kind === 'input-kept') command.inputKeeper = record[2];
  else if (kind === 'input-ended') command.inputEnded = true;
  else if (kind === 'bereft') command.isBereft = true;
  else if (kind === 'interrupted') command.interrupted = record[2];
  else if (kind === 'chunks-dropped') command.dropped = record[2];
  else if (kind === 'chunk')
    command.chunks.push({ stream: record[2], size: record[3], logEnd: record[4], time: record[5] });
  else if (kind === 'chunks') for (const piece of unpacked(record[2])) command.chunks.push(piece);
  else if (kind === 'log-stopped') command.totals = record[2];
  else if (kind === 'ended') {
    command.ended = { end: record[2], ...record[3] };
    command.totals = record[4];
    // It never runs again, and all inputs together may be more than there is memory for.
    if (command.request.stdin.kind === 'text') command.request.stdin = { kind: 'none' };
  } else if (kind === 'freed') command.isFreed = true;
  else commands.delete(number);
}

/** Throws if it cannot be opened now and perhaps later. */
function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isPassing(error)) throw error;
    return undefined;
  }
}

function isOwnFile(fd: number): boolean {
  const stat = fstatSync(fd);
  if (!stat.isFile() || stat.uid !== process.getuid?.()) return false;
  if (stat.size > longestJournal) throw new Error(`The journal is too long to be read: ${stat.size} bytes.`);
  return true;
}

/** One after the other: together they may be more than a string can hold. What comes after the last newline was never completely written. */
function* wholeLines(fd: number): Generator<string> {
  let begun: Buffer[] = [];
  for (;;) {
    const block = Buffer.allocUnsafe(blockBytes);
    const count = readSync(fd, block, 0, blockBytes, null);
    if (count === 0) return;
    const end = block.subarray(0, count).lastIndexOf(newline);
    if (end >= 0) {
      yield* Buffer.concat([...begun, block.subarray(0, end)])
        .toString()
        .split('\n');
      begun = [];
    }
    begun.push(block.subarray(end + 1, count));
  }
}
