import { z } from 'zod';
import { defaultLimits } from './limits';
import * as value from './values';

const none = z.strictObject({});
const nothing = z.object({});

const execution = {
  sessionId: value.sessionId,
  command: value.commandText,
  timeoutMs: value.timeoutMs.optional(),
  cwd: value.path.optional(),
  env: value.environment.optional(),
  maxOutputBytes: z.int().min(1).max(defaultLimits.maxOutputBytes).optional(),
  onBusy: z.enum(['queue', 'reject']).optional(),
  origin: z.string().min(1).max(64).optional(),
};

const isBase64 = (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

export const execRunParams = z.strictObject({ ...execution, stdin: z.string().optional() });
export const execStartParams = z.strictObject({
  ...execution,
  background: z.boolean().optional(),
  keepStdinOpen: z.boolean().optional(),
});

export const sessionCreateParams = z.strictObject({
  shell: z.string().min(1).max(4096).optional(),
  cwd: value.path.optional(),
  env: value.environment.optional(),
  name: z.string().min(1).max(200).optional(),
  profile: z.enum(['clean', 'user']).optional(),
  defaultTimeoutMs: value.timeoutMs.optional(),
  idleTimeoutMs: value.timeoutMs.optional(),
  pty: z.boolean().optional(),
  cols: z.int().min(1).max(1000).optional(),
  rows: z.int().min(1).max(1000).optional(),
});

export const execWaitParams = z.strictObject({
  commandId: value.commandId,
  until: z.array(value.waitCondition).min(1).max(16).optional(),
  timeoutMs: value.timeoutMs.optional(),
  maxOutputBytes: z.int().min(1).max(defaultLimits.maxOutputBytes).optional(),
});

export const execOutputParams = z.strictObject({
  commandId: value.commandId,
  stream: z.enum(['stdout', 'stderr', 'both']).optional(),
  fromSeq: value.cursor.optional(),
  tailLines: z.int().min(0).max(1_000_000).optional(),
  grep: z.string().min(1).max(10_000).optional(),
  maxBytes: z.int().min(1).max(defaultLimits.maxOutputBytes).optional(),
});

const bySession = z.strictObject({ sessionId: value.sessionId });

export const ping = z.object({
  pong: z.literal(true),
  version: z.string(),
  protocolVersion: z.int(),
  pid: z.int(),
  uptimeMs: z.number(),
});

export const stats = z.object({
  sessions: z.object({ total: z.int(), idle: z.int(), running: z.int() }),
  commands: z.object({ started: z.int(), running: z.int(), exited: z.int() }),
  bytes: z.object({ stdout: z.int(), stderr: z.int() }),
  memory: z.object({ rssBytes: z.int() }),
  limits: value.limits,
});

export const runtimeDescription = z.object({
  name: z.string(),
  version: z.string(),
  protocolVersion: z.int(),
  platform: z.string(),
  pid: z.int(),
  transports: z.array(z.string()),
  shells: z.array(z.object({ name: z.string(), path: z.string(), version: z.string() })),
  features: z.array(z.string()),
  methods: z.array(z.string()),
  limits: value.limits,
});

/** The condition's name, or "timeout"; with the command as it is then: its result once it has finished. */
export const waitAnswer = z.object({
  met: z.enum(['exit', 'output', 'port', 'silence_ms', 'file', 'input', 'timeout']),
  ...value.commandSnapshot.shape,
});

/** Every message of the product, once: its parameters, its answer, and what it streams before the answer. */
export const methods = {
  'system.hello': {
    params: z.strictObject({ clientName: z.string().min(1).max(64), protocolVersion: z.int() }),
    result: ping,
    about: 'Introduces a client: its name becomes the origin of what it runs. Versions must match.',
  },
  'system.ping': { params: none, result: ping, about: 'Answers at once: is the sidecar there, and which one is it.' },
  'system.stats': { params: none, result: stats, about: 'Counts of sessions, commands and bytes; memory; limits.' },
  'system.shutdown': {
    params: z.strictObject({ keepSessions: z.boolean().optional() }),
    result: nothing,
    about:
      'Ends the sidecar and its sessions, as SIGTERM does. With keep_sessions they live on, and the next sidecar goes on with them.',
  },
  'runtime.describe': { params: none, result: runtimeDescription, about: 'What this sidecar is and can do.' },
  'session.create': { params: sessionCreateParams, result: value.sessionInfo, about: 'Starts a shell.' },
  'session.list': {
    params: none,
    result: z.object({ sessions: z.array(value.sessionInfo) }),
    about: 'All sessions, oldest first.',
  },
  'session.info': { params: bySession, result: value.sessionInfo, about: 'One session.' },
  'session.rename': {
    params: z.strictObject({ sessionId: value.sessionId, name: z.string().min(1).max(200) }),
    result: value.sessionInfo,
    about: 'Gives a session another name.',
  },
  'session.destroy': {
    params: bySession,
    result: nothing,
    about: 'Kills what the session runs, then its shell; nothing survives.',
  },
  'exec.run': {
    params: execRunParams,
    result: value.commandResult,
    about: 'Runs a command in the session and answers with its whole result.',
  },
  'exec.stream': {
    params: execRunParams,
    result: value.commandResult,
    event: value.streamEvent,
    about: 'As exec.run, with the output as events while it appears.',
  },
  'exec.start': {
    params: execStartParams,
    result: z.object({ commandId: value.commandId, pid: z.int().optional() }),
    about: 'Starts a command and answers at once; background commands leave the session free.',
  },
  'exec.follow': {
    params: z.strictObject({ commandId: value.commandId, fromSeq: value.cursor.optional() }),
    result: value.commandResult,
    event: value.streamEvent,
    about: 'Streams the output of a started command from a cursor on, then answers with its result.',
  },
  'exec.wait': {
    params: execWaitParams,
    result: waitAnswer,
    about: 'Waits until one of the conditions holds; the exit of the command always ends the wait.',
  },
  'exec.output': {
    params: execOutputParams,
    result: z.object({
      chunks: z.array(value.outputChunk),
      nextSeq: value.cursor,
      droppedBytes: z.int(),
      finished: z.boolean(),
    }),
    about: `Output so far, from a cursor, the last lines, or the lines that match.

From a cursor every byte comes once if each \`next_seq\` is the next \`from_seq\`, whatever \`max_bytes\` is: where a piece has no room,
\`next_seq\` lies within it and has a fraction. Characters are not cut, so a single one may be more than \`max_bytes\`. Lines are kept within \`max_bytes\`: with \`tail_lines\` the newest, otherwise the oldest.
Those that match come in one chunk for each piece they end in.

\`dropped_bytes\` counts what was asked for and is not there: output that is no longer kept or is in no log, and lines for which there was no room.
Of a line of more than 1 MiB \`grep\` looks at the first, and the rest is counted. What is in no log is counted once:
\`next_seq\` then lies behind it, and grows with it. With
\`tail_lines\` and without \`grep\` it counts no further back than about 1 MiB.`,
  },
  'exec.input': {
    params: z
      .strictObject({
        commandId: value.commandId,
        data: z.string().optional(),
        encoding: value.encoding.optional(),
        eof: z.boolean().optional(),
      })
      .refine(({ data = '', encoding }) => encoding !== 'base64' || isBase64(data), {
        error: 'is not base64, although encoding says so',
        path: ['data'],
      }),
    result: nothing,
    about:
      'Writes to the standard input of a command started with keep_stdin_open. Bytes that are no text come in base64.',
  },
  'exec.cancel': {
    params: z
      .strictObject({
        commandId: value.commandId.optional(),
        sessionId: value.sessionId.optional(),
        signal: value.signalName.optional(),
      })
      .refine((params) => (params.commandId === undefined) !== (params.sessionId === undefined), {
        error: 'give either command_id or session_id',
      }),
    result: z.object({ outcome: value.outcome.nullable(), commandId: value.commandId }),
    about: 'Ends a command and only that: INT, then TERM, then KILL. Answers once it is gone.',
  },
  'exec.list': {
    params: z.strictObject({ sessionId: value.sessionId.optional(), runningOnly: z.boolean().optional() }),
    result: z.object({ commands: z.array(value.commandSnapshot) }),
    about: 'Commands that run or ran, newest last.',
  },
  'events.subscribe': {
    params: none,
    result: nothing,
    event: value.changeEvent,
    endless: true,
    about: 'Streams every change of a session or command until the client ends the request.',
  },
} as const satisfies Record<string, MethodDefinition>;

interface MethodDefinition {
  params: z.ZodType;
  result: z.ZodType;
  event?: z.ZodType;
  /** It has no end of its own, so nobody waits for one. */
  endless?: true;
  about: string;
}

export type Methods = typeof methods;
export type MethodName = keyof Methods;
export type Params<M extends MethodName> = z.infer<Methods[M]['params']>;
export type Result<M extends MethodName> = z.infer<Methods[M]['result']>;
export type StreamedMethodName = {
  [M in MethodName]: Methods[M] extends { event: z.ZodType } ? M : never;
}[MethodName];
export type Event<M extends StreamedMethodName> = Methods[M] extends { event: infer E extends z.ZodType }
  ? z.infer<E>
  : never;

export const isMethodName = (name: string): name is MethodName => Object.hasOwn(methods, name);
