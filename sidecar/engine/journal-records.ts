import { z } from 'zod';

/** A journal of another version is not adopted. */
export const journalVersion = 1;

const identity = z.object({ pid: z.number().int().positive(), startTime: z.string() });
const count = z.number().int().nonnegative();
const stream = z.enum(['stdout', 'stderr']);
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
  hasErrorTrap: z.boolean(),
  isShadowed: z.boolean(),
  mayInline: z.boolean().optional(),
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

/** The second field of a record about a command is the command's number. */
const recordSchema = z.union([
  z.tuple([z.literal('session'), z.literal(journalVersion), foundation]),
  z.tuple([z.literal('condition'), condition]),
  z.tuple([z.literal('taken'), count, request]),
  z.tuple([z.literal('began'), count, z.object({ slot: count, startedAt: z.number(), monotonic: z.number() })]),
  z.tuple([z.literal('subshell'), count, identity]),
  z.tuple([z.literal('input'), count, z.base64()]),
  z.tuple([z.literal('input-kept'), count, identity]),
  z.tuple([z.literal('input-ended'), count]),
  z.tuple([z.literal('bereft'), count]),
  z.tuple([z.literal('interrupted'), count, z.enum(['cancelled', 'timed_out'])]),
  z.tuple([
    z.literal('chunks-dropped'),
    count,
    z.object({ first: count, stdout: count, stderr: count, logStart: count }),
  ]),
  z.tuple([z.literal('chunk'), count, stream, count, count, z.number()]),
  z.tuple([z.literal('ended'), count, ending, z.object({ startedAt: z.number(), tookMs: z.number() }), totals]),
  z.tuple([z.literal('freed'), count]),
  z.tuple([z.literal('forgotten'), count]),
  z.tuple([z.literal('destroyed')]),
]);

export type JournalRecord = z.infer<typeof recordSchema>;
export type SessionFoundation = z.infer<typeof foundation>;
export type SessionCondition = z.infer<typeof condition>;
export type SavedRequest = z.infer<typeof request>;
export type SavedEnding = z.infer<typeof ending>;
export type OutputTotals = z.infer<typeof totals>;

/** One line of a journal; nothing if it is not a record. */
export function parseRecord(line: string): JournalRecord | undefined {
  try {
    const parsed = recordSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
