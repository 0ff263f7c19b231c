import { z } from 'zod';
import type { StreamName } from '../../protocol/values';

/** A journal of another version is not adopted. */
export const journalVersion = 2;

const identity = z.object({ pid: z.number().int().positive(), startTime: z.string() });
const count = z.number().int().nonnegative();
const profile = z.enum(['clean', 'user']);

/** What a session was created with. */
const foundation = z.object({
  shell: z.string(),
  profile,
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  envKeys: z.array(z.string()),
  defaultTimeoutMs: z.number().optional(),
  idleTimeoutMs: z.number().optional(),
  createdAt: z.number(),
});

/** What changes in a session beside its commands. */
const condition = z.object({
  name: z.string(),
  shell: identity.optional(),
  /** How that shell ended, and the last command it had been given, if it has ended. */
  ended: z.object({ code: z.number().nullable(), signal: z.string().nullable(), lastNumber: count }).optional(),
  since: z.string().optional(),
  restarts: count,
  notes: z.array(z.string()),
  cwd: z.string(),
  /** -1 if there is none that can be restored from. */
  snapshotUpTo: z.number().int().min(-1),
  /** Another than the session was created with if the shell failed with that. */
  profile: profile.optional(),
  mayTrap: z.boolean(),
  isShadowed: z.boolean(),
  mayInline: z.boolean(),
  keepers: z.array(identity),
});

const request = z.object({
  text: z.string(),
  background: z.boolean(),
  origin: z.string(),
  stdin: z.union([
    z.object({ kind: z.literal('none') }),
    z.object({ kind: z.literal('text'), text: z.string() }),
    z.object({ kind: z.literal('open') }),
  ]),
  overrides: z.object({ cwd: z.string().optional(), env: z.record(z.string(), z.string()) }).optional(),
  timeoutMs: z.number().optional(),
  maxOutputBytes: count,
});

const ending = z.object({
  outcome: z.enum(['exited', 'signaled', 'timed_out', 'cancelled', 'shell_exited']),
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  cwd: z.string(),
  notes: z.array(z.string()),
  heldOpenBy: z.array(z.object({ pid: z.number(), command: z.string() })).optional(),
});

/** What the log does not tell of a command's output. */
const totals = z.object({ stdout: count, stderr: count, unlogged: count, stopped: z.string().optional() });

/** By the first field of a record. The second, of one about a command, is the command's number. */
const schemas = {
  session: z.tuple([z.literal('session'), z.literal(journalVersion), foundation]),
  condition: z.tuple([z.literal('condition'), condition]),
  taken: z.tuple([z.literal('taken'), count, request]),
  began: z.tuple([z.literal('began'), count, z.object({ slot: count, startedAt: z.number(), monotonic: z.number() })]),
  subshell: z.tuple([z.literal('subshell'), count, identity]),
  input: z.tuple([z.literal('input'), count, z.base64()]),
  'input-kept': z.tuple([z.literal('input-kept'), count, identity]),
  'input-ended': z.tuple([z.literal('input-ended'), count]),
  bereft: z.tuple([z.literal('bereft'), count]),
  interrupted: z.tuple([z.literal('interrupted'), count, z.enum(['cancelled', 'timed_out'])]),
  'chunks-dropped': z.tuple([
    z.literal('chunks-dropped'),
    count,
    z.object({ first: count, stdout: count, stderr: count, logStart: count }),
  ]),
  'log-stopped': z.tuple([z.literal('log-stopped'), count, totals]),
  ended: z.tuple([z.literal('ended'), count, ending, z.object({ startedAt: z.number(), tookMs: z.number() }), totals]),
  freed: z.tuple([z.literal('freed'), count]),
  forgotten: z.tuple([z.literal('forgotten'), count]),
  destroyed: z.tuple([z.literal('destroyed')]),
};

/** One piece of output: its command, its stream, its size, where it ends in the log, and when it came. */
type ChunkRecord = ['chunk', number, StreamName, number, number, number];
/** Many pieces of one command, packed. */
type ChunksRecord = ['chunks', number, number[]];

export type JournalRecord = z.infer<(typeof schemas)[keyof typeof schemas]> | ChunkRecord | ChunksRecord;
export type SessionFoundation = z.infer<typeof foundation>;
export type SessionCondition = z.infer<typeof condition>;
export type SavedRequest = z.infer<typeof request>;
export type SavedEnding = z.infer<typeof ending>;
export type OutputTotals = z.infer<typeof totals>;

/** One line of a journal; nothing if it is not a record. */
export function parseRecord(line: string): JournalRecord | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return Array.isArray(record) ? checked(record) : undefined;
  } catch {
    return undefined;
  }
}

function checked(record: unknown[]): JournalRecord | undefined {
  const [kind] = record;
  // Nearly all are about pieces of output, and a schema takes ten times as long.
  if (kind === 'chunk') return isChunk(record) ? record : undefined;
  if (kind === 'chunks') return isChunks(record) ? record : undefined;
  if (typeof kind !== 'string' || !Object.hasOwn(schemas, kind)) return undefined;
  return schemas[kind as keyof typeof schemas].safeParse(record).data;
}

function isChunk(record: unknown[]): record is ChunkRecord {
  const [, number, stream, size, logEnd, time] = record;
  const isOfStream = stream === 'stdout' || stream === 'stderr';
  return record.length === 6 && isOfStream && isCount(number) && isCount(size) && isCount(logEnd) && isCount(time);
}

function isChunks(record: unknown[]): record is ChunksRecord {
  const [, number, packed] = record;
  return record.length === 3 && isCount(number) && Array.isArray(packed) && packed.every(Number.isSafeInteger);
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
