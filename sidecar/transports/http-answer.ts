import type { IncomingMessage, ServerResponse } from 'node:http';
import { readEnvelope, refusal } from '../../protocol/envelope';
import { type ErrorCode, failure, type LimpetError } from '../../protocol/errors';
import { isMethodName, methods } from '../../protocol/methods';
import type { Caller } from '../server';
import { Calls, type TransportContext } from './connection';
import type { Rejection } from './http-guard';
import { type Answer, answerLine, encodeLine } from './line-call';
import { parseMessage } from './message';
import { Outlet } from './outlet';

const statuses: Partial<Record<ErrorCode, number>> = {
  payload_too_large: 413,
  unauthorized: 401,
  unknown_method: 404,
  session_not_found: 404,
  command_not_found: 404,
  session_busy: 409,
  command_finished: 409,
  session_terminated: 410,
  session_limit: 429,
  overloaded: 503,
  shutting_down: 503,
  internal: 500,
};
const statusOf = (answer: Answer) => (answer.ok ? 200 : (statuses[answer.error.code] ?? 400));

/** A stream that stays silent still shows soon that it has begun. */
const headersAfterMs = 100;

/** Answers one HTTP request: an envelope, or for a streamed method its events and then the envelope, one per line. */
export async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  guard: (request: IncomingMessage) => Rejection | undefined,
  context: TransportContext,
  mayContinue: boolean,
): Promise<void> {
  const rejected = guard(request) ?? refuseLength(request, context.limits.maxMessageBytes);
  if (rejected !== undefined) {
    refuse(request, response, rejected);
    return;
  }
  if (mayContinue) response.writeContinue();
  const body = await readBody(request, context.limits.maxMessageBytes);
  if (body === 'gone') return;
  if (body === 'too large') {
    refuse(request, response, tooLarge(context.limits.maxMessageBytes));
    return;
  }
  const parsed = parseMessage(body, context.limits);
  const envelope = 'error' in parsed ? { id: null, error: parsed.error } : readEnvelope(parsed.value);
  if ('error' in envelope) {
    send(response, statusOf(refusal(envelope.id, envelope.error)), refusal(envelope.id, envelope.error));
    return;
  }

  const caller: Caller = { transport: 'http', dialect: 'line' };
  const calls = new Calls(() => outlet.ready());
  const outlet = new Outlet(response, request, (reason) => {
    context.log.warn({ transport: 'http', reason }, 'client given up');
    response.destroy();
  });
  response.on('close', () => calls.stopAll());
  const isStream = isMethodName(envelope.method) && 'event' in methods[envelope.method];
  const begin = (status: number) => {
    clearTimeout(silence);
    if (!response.headersSent) response.writeHead(status, headers(isStream));
  };
  const silence = isStream ? setTimeout(() => begin(200), headersAfterMs) : undefined;
  const answer = await answerLine(context.server, envelope, caller, calls, (event) => {
    begin(200);
    outlet.write(`${JSON.stringify(event)}\n`);
    return outlet.ready();
  });
  begin(statusOf(answer));
  outlet.write(encodeLine(answer));
  response.end();
}

const headers = (isStream: boolean) => ({
  'content-type': isStream ? 'application/x-ndjson' : 'application/json',
  'cache-control': 'no-store',
});

function send(response: ServerResponse, status: number, answer: Answer, more: Record<string, string> = {}): void {
  response.writeHead(status, { ...headers(false), ...more });
  response.end(`${JSON.stringify(answer)}\n`);
}

/** The body is not wanted: what still arrives of it is thrown away for a moment, so that the answer can be read. */
function refuse(request: IncomingMessage, response: ServerResponse, { status, error, headers }: Rejection): void {
  send(response, status, refusal(null, error), { ...headers, connection: 'close' });
  request.resume();
  const cut = setTimeout(() => request.socket.destroy(), 1000);
  cut.unref();
  request.on('close', () => clearTimeout(cut));
}

const tooLarge = (limit: number): Rejection => ({ status: 413, error: failure.payloadTooLarge(limit) as LimpetError });

function refuseLength(request: IncomingMessage, limit: number): Rejection | undefined {
  return Number(request.headers['content-length'] ?? 0) > limit ? tooLarge(limit) : undefined;
}

function readBody(request: IncomingMessage, limit: number): Promise<Buffer | 'too large' | 'gone'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve('too large');
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('close', () => resolve('gone'));
    request.on('error', () => resolve('gone'));
  });
}
