import { z } from 'zod';
import { errorCodes } from './errors';
import { defaultLimits, type Limits, maxTimeoutMs } from './limits';

const withoutNul = (text: string) => !text.includes('\0');
const noNul = { error: 'must not contain a NUL character' };

export const sessionId = z.string().min(1).max(200);
export const commandId = z.string().min(1).max(200);
export const path = z.string().min(1).max(4096).refine(withoutNul, noNul);

/** A user's own map: its keys are never renamed by the line dialect. */
export const environment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
    error: 'is not a variable name: use letters, digits and _, not starting with a digit',
  }),
  z
    .string()
    .max(1024 * 1024)
    .refine(withoutNul, noNul),
);

export const commandText = z.string().max(defaultLimits.maxCommandBytes).refine(withoutNul, noNul);

export const timeoutMs = z
  .int()
  .min(1, { error: `must be between 1 and ${maxTimeoutMs} milliseconds` })
  .max(maxTimeoutMs, { error: `must be between 1 and ${maxTimeoutMs} milliseconds` });

export const signalName = z.enum([
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
]);

export const encoding = z.enum(['utf8', 'base64']);
export const streamName = z.enum(['stdout', 'stderr']);
export const outcome = z.enum(['exited', 'signaled', 'timed_out', 'cancelled', 'shell_exited']);
export const sessionState = z.enum(['creating', 'idle', 'running', 'terminated']);
export const commandState = z.enum(['queued', 'running', 'finished']);

export const limits = z.object(
  Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, z.number()])) as Record<keyof Limits, z.ZodNumber>,
);

export const runningCommand = z.object({ commandId, command: z.string(), startedAt: z.string() });

export const sessionInfo = z.object({
  sessionId,
  name: z.string(),
  shell: z.string(),
  shellPath: z.string(),
  pid: z.int().nullable(),
  state: sessionState,
  cwd: z.string(),
  createdAt: z.string(),
  lastActiveAt: z.string(),
  restarts: z.int(),
  runningCommand: runningCommand.optional(),
  queued: z.int(),
  backgroundCount: z.int(),
  envKeys: z.array(z.string()),
  notes: z.array(z.string()),
});

export const holder = z.object({ pid: z.int(), command: z.string() });

const resultFields = {
  outcome,
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  encoding: z.object({ stdout: encoding, stderr: encoding }),
  truncated: z.object({ stdout: z.boolean(), stderr: z.boolean() }),
  cwd: z.string(),
  durationMs: z.number(),
  logPath: z.string(),
  heldOpenBy: z.array(holder).optional(),
  notes: z.array(z.string()),
};

const commandIdentity = {
  commandId,
  sessionId,
  command: z.string(),
  startedAt: z.string(),
  stdoutBytes: z.int(),
  stderrBytes: z.int(),
};

export const commandResult = z.object({ ...commandIdentity, ...resultFields });

/** What a running command is doing, with the evidence it was concluded from. */
export const activity = z.object({
  kind: z.enum(['computing', 'waiting_for_input', 'sleeping', 'waiting_for_io', 'stopped', 'unknown']),
  evidence: z.string(),
});

export const commandSnapshot = z.object({
  ...commandIdentity,
  background: z.boolean(),
  origin: z.string(),
  state: commandState,
  pid: z.int().optional(),
  activity: activity.optional(),
  ...z.object(resultFields).partial().shape,
});

export const waitCondition = z.union([
  z.strictObject({ exit: z.literal(true) }),
  z.strictObject({ output: z.string().min(1).max(10_000) }),
  z.strictObject({ port: z.int().min(1).max(65_535) }),
  z.strictObject({ silenceMs: timeoutMs }),
  z.strictObject({ file: path }),
  z.strictObject({ input: z.literal(true) }),
]);

/** The number of a piece of output, with a fraction where it lies within one. */
export const cursor = z.number().min(0);

export const outputChunk = z.object({
  seq: z.int(),
  stream: streamName,
  data: z.string(),
  encoding: encoding.optional(),
  time: z.number(),
});

export const outputEvent = z.object({
  event: streamName,
  seq: z.int(),
  data: z.string(),
  encoding: encoding.optional(),
});

/** Says that bytes before `seq` are no longer kept; nothing is ever skipped without one. */
export const gapEvent = z.object({ event: z.literal('gap'), seq: z.int(), droppedBytes: z.int() });

export const streamEvent = z.discriminatedUnion('event', [outputEvent, gapEvent]);

export const changeEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('session'), session: sessionInfo }),
  z.object({ event: z.literal('session_gone'), sessionId }),
  z.object({ event: z.literal('command'), command: commandSnapshot }),
]);

export const errorBody = z.object({
  code: z.enum(errorCodes),
  message: z.string(),
  data: z.record(z.string(), z.unknown()).optional(),
});

export type Environment = z.infer<typeof environment>;
export type SessionInfo = z.infer<typeof sessionInfo>;
export type SessionState = z.infer<typeof sessionState>;
export type CommandResult = z.infer<typeof commandResult>;
export type CommandSnapshot = z.infer<typeof commandSnapshot>;
export type CommandState = z.infer<typeof commandState>;
export type Activity = z.infer<typeof activity>;
export type Outcome = z.infer<typeof outcome>;
export type Holder = z.infer<typeof holder>;
export type StreamName = z.infer<typeof streamName>;
export type Encoding = z.infer<typeof encoding>;
export type SignalName = z.infer<typeof signalName>;
export type WaitCondition = z.infer<typeof waitCondition>;
export type OutputChunk = z.infer<typeof outputChunk>;
export type OutputEvent = z.infer<typeof outputEvent>;
export type StreamEvent = z.infer<typeof streamEvent>;
export type ChangeEvent = z.infer<typeof changeEvent>;
