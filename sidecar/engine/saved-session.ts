import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { StreamName } from '../../protocol/values';
import type { ProcessIdentity } from '../processes/identity';
import {
  type JournalRecord,
  type OutputTotals,
  parseRecord,
  type SavedEnding,
  type SavedRequest,
  type SessionCondition,
  type SessionFoundation,
} from './journal-records';

const longestJournal = 512 * 1024 * 1024;

export interface SavedChunk {
  stream: StreamName;
  size: number;
  logEnd: number;
  time: number;
}

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
  chunks: SavedChunk[];
  ended?: { end: SavedEnding; startedAt: number; tookMs: number; totals: OutputTotals };
  isFreed: boolean;
}

/** A session as its journal tells it. */
export interface SavedSession {
  foundation: SessionFoundation;
  condition: SessionCondition;
  commands: SavedCommand[];
  nextNumber: number;
}

/** Reads a journal; nothing if there is none, it is damaged where it matters, or its session was being destroyed. */
export function readSavedSession(path: string): SavedSession | undefined {
  const text = readOwn(path);
  if (text === undefined) return undefined;
  let foundation: SessionFoundation | undefined;
  let condition: SessionCondition | undefined;
  const commands = new Map<number, SavedCommand>();
  let nextNumber = 1;
  // What comes after the last newline was never completely written.
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
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
  else if (kind === 'ended') command.ended = { end: record[2], ...record[3], totals: record[4] };
  else if (kind === 'freed') command.isFreed = true;
  else commands.delete(number);
}

/** What may be otherwise in a moment. */
const passing = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EAGAIN', 'EINTR']);

/** A file of this user's, no link, of a sane size. Throws if it cannot be read now and perhaps later. */
function readOwn(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.uid !== process.getuid?.() || stat.size > longestJournal) return undefined;
    return readFileSync(fd, 'utf8');
  } catch (error) {
    if (passing.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
