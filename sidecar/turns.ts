import type { Call, Caller } from './server';

const last = new WeakMap<Caller, Promise<unknown>>();

/**
 * Answers that can be large and cost nothing to ask for are made one after the other for each client, and only while it
 * reads them; otherwise a single write could ask for gigabytes.
 */
export function inTurn<R>(call: Call, work: () => Promise<R>): Promise<R> {
  const before = last.get(call.caller);
  const mine = before === undefined ? work() : before.then(() => whenRoom(call)).then(work);
  const done = mine
    .catch(() => undefined)
    .then(() => {
      if (last.get(call.caller) === done) last.delete(call.caller);
    });
  last.set(call.caller, done);
  return mine;
}

async function whenRoom(call: Call): Promise<void> {
  // The answer before this one is written on the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  await call.room();
}
