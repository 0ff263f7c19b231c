import { failure } from '../protocol/errors';
import type { Result } from '../protocol/methods';
import type { ChangeEvent } from '../protocol/values';
import type { Emit } from './engine/engine';
import type { Call, SessionEngine } from './server';

/** Changes kept for a subscriber that lags; only the newest of each session or command counts. */
const maxPending = 2000;

/**
 * Sends every change to the subscriber until it ends the call, or there are no more. One that lags gets the newest
 * states, not a backlog.
 */
export function followChanges(
  engine: SessionEngine,
  call: Call,
  noMore: AbortSignal,
): Promise<Result<'events.subscribe'>> {
  return new Promise((resolve, reject) => {
    const pending = new Map<string, ChangeEvent>();
    const emit = call.emit as Emit<ChangeEvent>;
    let sending = false;

    const send = async () => {
      sending = true;
      for (const [key, event] of pending) {
        pending.delete(key);
        const pause = emit(event);
        if (pause !== undefined) await pause;
        if (call.signal.aborted) break;
      }
      sending = false;
    };

    const subscription = engine.onChange((event) => {
      const key = subjectOf(event);
      // Deleted first, so that what changed last is also sent last.
      pending.delete(key);
      pending.set(key, event);
      if (pending.size > maxPending) {
        subscription.dispose();
        reject(failure.overloaded('The subscriber is too slow. Subscribe again and list what there is.'));
      } else if (!sending) {
        send().catch(reject);
      }
    });

    const end = () => {
      subscription.dispose();
      resolve({});
    };
    const until = AbortSignal.any([call.signal, noMore]);
    if (until.aborted) end();
    else until.addEventListener('abort', end, { once: true });
  });
}

function subjectOf(event: ChangeEvent): string {
  switch (event.event) {
    case 'session':
      return event.session.sessionId;
    case 'session_gone':
      return event.sessionId;
    case 'command':
      return event.command.commandId;
  }
}
