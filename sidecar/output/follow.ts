import { splitCursor } from '../../protocol/cursor';
import type { StreamEvent, StreamName } from '../../protocol/values';
import type { StreamBytes } from './chunk-index';
import type { CommandOutput } from './command-output';
import { encodeBytes } from './text';

export type Emit<E> = (event: E) => void | Promise<void>;

/** When to stop: the command finished, or nobody listens any more. */
export interface FollowUntil {
  whenFinished: (callback: () => void) => () => void;
  isFinished: () => boolean;
  signal: AbortSignal | undefined;
}

/**
 * Emits the output from a cursor on, then what comes. New output goes straight to a reader that keeps up; one that does not
 * is fed from the log at its own pace, so it costs neither memory nor anybody else's time.
 */
export async function follow(
  output: CommandOutput,
  fromSeq: number,
  emit: Emit<StreamEvent>,
  { whenFinished, isFinished, signal }: FollowUntil,
): Promise<void> {
  const { seq: first, bytesRead } = splitCursor(Math.max(1, fromSeq));
  let next = first;
  /** Bytes of the pieces before the next one, given or told of as missing. */
  let before = sum(output.index.before(first));
  let unlogged = output.unloggedAfter(fromSeq);
  let wake: () => void = () => {};
  let live = false;
  let blocked: Promise<void> | undefined;

  const stopListening = output.listen({
    onOutput(stream, data, seq) {
      if (seq === undefined) unlogged += data.length;
      if (!live || seq !== next) return;
      next++;
      before += data.length;
      const slow = passOn(emit, outputEvent(stream, seq, Buffer.from(data.buffer, data.byteOffset, data.length)));
      if (slow === undefined) return;
      // Whether it is still waited for or not: if it fails, that is no failure of whoever prints.
      slow.catch(() => {});
      live = false;
      blocked = slow;
      wake();
    },
    onEnd: () => wake(),
  });
  const onAbort = () => wake();
  signal?.addEventListener('abort', onAbort);
  const stopWaiting = whenFinished(() => wake());

  try {
    while (signal?.aborted !== true) {
      await blocked;
      blocked = undefined;
      if (next < output.index.first) {
        const dropped = sum(output.index.dropped);
        const droppedBytes = dropped - before;
        next = output.index.first;
        before = dropped;
        await emit({ event: 'gap', seq: next, droppedBytes });
      }
      const place = output.index.place(next);
      if (place !== undefined) {
        next++;
        before += place.size;
        const whole = output.read(place);
        const bytes = place.seq === first ? whole.subarray(bytesRead) : whole;
        if (bytes.length > 0) await emit(outputEvent(place.stream, place.seq, bytes));
        const lost = place.size - whole.length;
        if (lost > 0) await emit({ event: 'gap', seq: next, droppedBytes: lost });
        continue;
      }
      if (isFinished()) break;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      live = true;
      await woken;
      live = false;
    }
    if (unlogged > 0 && signal?.aborted !== true) {
      await emit({ event: 'gap', seq: next, droppedBytes: unlogged });
    }
  } finally {
    stopListening();
    stopWaiting();
    signal?.removeEventListener('abort', onAbort);
  }
}

const sum = ({ stdout, stderr }: StreamBytes) => stdout + stderr;

/** A reader that throws fails for itself alone; whoever reads what is printed, for all readers, goes on. */
function passOn<E>(emit: Emit<E>, event: E): Promise<void> | undefined {
  try {
    return emit(event) ?? undefined;
  } catch (error) {
    return Promise.reject(error);
  }
}

function outputEvent(event: StreamName, seq: number, bytes: Buffer): StreamEvent {
  const { data, encoding } = encodeBytes(bytes);
  return encoding === 'utf8' ? { event, seq, data } : { event, seq, data, encoding };
}
