import { translate } from '../../protocol/dialect';
import { type Envelope, refusal, success } from '../../protocol/envelope';
import { failure } from '../../protocol/errors';
import { isMethodName, methods } from '../../protocol/methods';
import type { Emit } from '../engine/engine';
import type { Caller, Server } from '../server';
import type { Calls } from './connection';

export type Answer = ReturnType<typeof success> | ReturnType<typeof refusal>;

/** Answers one request of the line dialect: names are translated on the way in and on the way out. */
export async function answerLine(
  server: Server,
  request: Envelope,
  caller: Caller,
  calls: Calls,
  send: (event: object) => void | Promise<void>,
): Promise<Answer> {
  const { id, method } = request;
  const definition = isMethodName(method) ? methods[method] : undefined;
  const emit = definition === undefined ? () => undefined : emitter(request, definition, send);
  const call = calls.begin(caller, emit, definition !== undefined && 'endless' in definition);
  try {
    const params = definition === undefined ? request.params : translate(definition.params, request.params, 'fromLine');
    const data = await server.handle(method, params, call);
    return success(id, definition === undefined ? data : translate(definition.result, data, 'toLine'));
  } catch (thrown) {
    return refusal(id, thrown);
  } finally {
    call.end();
  }
}

/** A line for the wire. What no string can hold becomes an error of its own. */
export function encodeLine(answer: Answer): string {
  try {
    return `${JSON.stringify(answer)}\n`;
  } catch {
    return `${JSON.stringify(refusal(answer.id, failure.answerTooLarge()))}\n`;
  }
}

function emitter({ id }: Envelope, definition: object, send: (event: object) => void | Promise<void>): Emit<unknown> {
  if (!('event' in definition)) return () => undefined;
  const schema = definition.event as Parameters<typeof translate>[0];
  return (event) => send({ id, ...(translate(schema, event, 'toLine') as object) });
}
