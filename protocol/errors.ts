export const errorCodes = [
  'parse_error',
  'invalid_request',
  'unknown_method',
  'invalid_params',
  'payload_too_large',
  'unauthorized',
  'session_not_found',
  'session_busy',
  'session_terminated',
  'session_limit',
  'command_not_found',
  'command_finished',
  'shell_not_found',
  'cwd_not_found',
  'shell_start_failed',
  'not_supported',
  'overloaded',
  'shutting_down',
  'internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** What a failure looks like on every wire. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  data?: Record<string, unknown>;
}

/** A failure the caller can act on. Anything else that is thrown is a bug and reaches the caller as `internal`. */
export class LimpetError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly data?: Record<string, unknown>,
  ) {
    super(message);
    this.name = 'LimpetError';
  }

  toBody(): ErrorBody {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}

const quote = (value: string) => JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);

/** One factory per failure, so that a message is worded once. */
export const failure = {
  parseError: (detail: string) => new LimpetError('parse_error', `The message is not valid JSON: ${detail}`),
  invalidRequest: (detail: string) => new LimpetError('invalid_request', detail),
  idInUse: () =>
    new LimpetError('invalid_request', 'A request with this "id" is still running. Give each request its own.'),
  callStopped: () =>
    new LimpetError('invalid_request', 'The client ended this request before its answer; the command goes on.'),
  tooManyRequests: (limit: number) =>
    new LimpetError(
      'overloaded',
      `This connection already has ${limit} requests running. Wait for some of them to be answered.`,
      { limit },
    ),
  unknownMethod: (method: string) =>
    new LimpetError(
      'unknown_method',
      `There is no method ${quote(method)}. runtime.describe lists the methods there are.`,
    ),
  invalidParams: (detail: string, data?: Record<string, unknown>) => new LimpetError('invalid_params', detail, data),
  payloadTooLarge: (limit: number) =>
    new LimpetError(
      'payload_too_large',
      `The message is larger than ${limit} bytes. Send less, or write the data to a file.`,
      {
        limit,
      },
    ),
  answerTooLarge: () =>
    new LimpetError(
      'payload_too_large',
      'The answer is too large to send. Ask for less with max_output_bytes, or read it in pieces with exec.output.',
    ),
  unauthorized: () =>
    new LimpetError('unauthorized', 'A valid token is needed: send it as "Authorization: Bearer TOKEN".'),
  foreignHost: (address: string) =>
    new LimpetError('unauthorized', `The Host header does not name this sidecar. Address it as ${address}.`),
  webPage: () =>
    new LimpetError('unauthorized', 'Requests from web pages are refused: send none with an Origin header.'),
  sessionNotFound: (id: string) =>
    new LimpetError('session_not_found', `There is no session ${quote(id)}. session.list shows the ones there are.`),
  sessionBusy: (id: string, runningCommandId: string | undefined) =>
    new LimpetError(
      'session_busy',
      `Session ${id} is running a command. Wait for it, cancel it, or send the command with on_busy "queue".`,
      runningCommandId === undefined ? undefined : { runningCommandId },
    ),
  sessionTerminated: (id: string) =>
    new LimpetError('session_terminated', `Session ${id} was destroyed. Create a new one with session.create.`),
  sessionLimit: (limit: number) =>
    new LimpetError('session_limit', `There are already ${limit} sessions, the most allowed. Destroy one first.`, {
      limit,
    }),
  commandNotFound: (id: string) =>
    new LimpetError('command_not_found', `There is no command ${quote(id)}. exec.list shows the ones that are known.`),
  nothingRuns: (sessionId: string) =>
    new LimpetError('command_finished', `Nothing runs in session ${quote(sessionId)} now.`),
  commandFinished: (id: string) =>
    new LimpetError(
      'command_finished',
      `Command ${id} has already finished, so it can take neither input nor signals.`,
    ),
  shellNotFound: (shell: string, known: readonly string[]) =>
    new LimpetError(
      'shell_not_found',
      `No shell ${quote(shell)} was found. ${known.length > 0 ? `Available here: ${known.join(', ')}.` : 'Install bash or zsh.'}`,
      { available: [...known] },
    ),
  cwdNotFound: (cwd: string) =>
    new LimpetError(
      'cwd_not_found',
      `${quote(cwd)} is not a directory that can be entered. Give an existing absolute path.`,
    ),
  shellStartFailed: (detail: string) => new LimpetError('shell_start_failed', detail),
  notSupported: (detail: string) => new LimpetError('not_supported', detail),
  protocolMismatch: (version: string, ours: number, theirs: number) =>
    new LimpetError(
      'not_supported',
      `The running sidecar (version ${version}) speaks protocol ${ours}, this client speaks ${theirs}. Restart the sidecar, or update the older of the two.`,
      { version, protocolVersion: ours },
    ),
  overloaded: (detail: string) => new LimpetError('overloaded', detail),
  handedOver: (commandId: string) =>
    new LimpetError(
      'shutting_down',
      `The sidecar is being replaced; command ${commandId} goes on. Connect again and ask for it with exec.wait.`,
      { commandId },
    ),
  shuttingDown: () => new LimpetError('shutting_down', 'The sidecar is shutting down and takes no more requests.'),
  internal: () => new LimpetError('internal', 'Something went wrong inside the sidecar. Its log has the details.'),
};

/** Turns whatever was thrown into a body that is safe to send: no stack, no path, no secret. */
export function toErrorBody(thrown: unknown): ErrorBody {
  return thrown instanceof LimpetError ? thrown.toBody() : failure.internal().toBody();
}
