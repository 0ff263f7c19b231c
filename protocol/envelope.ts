import { type Dialect, toSnake } from './dialect';
import { type ErrorBody, failure, type LimpetError, toErrorBody } from './errors';

export type RequestId = string | number;

/** A request of the line dialect, checked as far as every method needs it. */
export interface Envelope {
  id: RequestId;
  method: string;
  params: Record<string, unknown>;
}

export interface RejectedEnvelope {
  /** null when the message names none that can be used. */
  id: RequestId | null;
  error: LimpetError;
}

const maxIdLength = 1024;

export function readEnvelope(message: unknown): Envelope | RejectedEnvelope {
  if (!isObject(message)) {
    return reject(null, 'A request is an object: {"id":"1","method":"system.ping","params":{}}.');
  }
  const id = isRequestId(message.id) ? message.id : null;
  if (id === null) return reject(null, 'A request needs an "id": a string or a number, which its answer repeats.');
  if (typeof message.method !== 'string') return reject(id, '"method" must be a string, for example "system.ping".');
  const params = message.params ?? {};
  if (!isObject(params)) return { id, error: failure.invalidParams('"params" must be an object.') };
  return { id, method: message.method, params };
}

export const success = (id: RequestId, data: unknown) => ({ id, ok: true as const, data });

export function refusal(id: RequestId | null, thrown: unknown, dialect: Dialect = 'line') {
  return { id, ok: false as const, error: spelled(toErrorBody(thrown), dialect) };
}

/** The fields of an error's data are ours, so they follow the dialect. */
function spelled(body: ErrorBody, dialect: Dialect): ErrorBody {
  if (body.data === undefined || dialect === 'camel') return body;
  const data = Object.fromEntries(Object.entries(body.data).map(([name, value]) => [toSnake(name), value]));
  return { ...body, data };
}

function reject(id: RequestId | null, detail: string): RejectedEnvelope {
  return { id, error: failure.invalidRequest(detail) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'number' || (typeof value === 'string' && value.length <= maxIdLength);
