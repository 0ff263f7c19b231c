import type { SidecarClient } from '../client/client';
import { followCommand } from '../client/client';
import type { CommandResult, StreamEvent, StreamName } from '../protocol/values';
import type { Context } from './command';
import { pour } from './screen';

/** Thrown when whoever reads our output has gone, as `| head` does. */
export class OutputClosed extends Error {}

interface CopyOptions {
  fromSeq?: number;
  streams?: StreamName[];
  /** Each piece as a line of JSON instead. */
  asJson?: boolean;
}

/** Copies a command's two streams to our own, byte for byte, until it ends. */
export async function copyOutput(
  context: Context,
  commandId: string,
  { fromSeq, streams = ['stdout', 'stderr'], asJson = false }: CopyOptions = {},
): Promise<CommandResult> {
  const { out, err } = context.screen;
  const closed = new AbortController();
  const onError = () => closed.abort();
  out.on('error', onError);
  err.on('error', onError);
  const onEvent = (event: StreamEvent) => {
    if (event.event === 'gap') {
      context.screen.note(`${event.droppedBytes} bytes are no longer kept and were skipped`);
      return undefined;
    }
    if (!streams.includes(event.event)) return undefined;
    if (asJson) {
      const { event: stream, ...rest } = event;
      context.screen.line(JSON.stringify({ stream, ...rest }));
      return undefined;
    }
    return pour(event.event === 'stdout' ? out : err, Buffer.from(event.data, event.encoding ?? 'utf8'));
  };
  const following = followCommand(() => context.connect({ start: false }), {
    commandId,
    onEvent,
    signal: closed.signal,
    ...(fromSeq === undefined ? {} : { fromSeq }),
  });
  const gone = new Promise<never>((_, reject) => {
    closed.signal.addEventListener('abort', () => reject(new OutputClosed()), { once: true });
  });
  return Promise.race([following, gone]);
}

/** The first Ctrl-C ends the command and waits for its result; the second leaves it to end alone. */
export function cancelOnInterrupt(client: SidecarClient, commandId: string): { dispose(): void } {
  let asked = false;
  const onInterrupt = () => {
    if (asked) process.exit(130);
    asked = true;
    // One that has just finished needs no cancelling.
    client.request('exec.cancel', { commandId }).catch(() => undefined);
  };
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onInterrupt);
  return {
    dispose: () => {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onInterrupt);
    },
  };
}
