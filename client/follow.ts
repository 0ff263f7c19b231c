import { LimpetError } from '../protocol/errors';
import type { CommandResult, StreamEvent } from '../protocol/values';
import type { SidecarClient } from './client';

export interface FollowOptions {
  commandId: string;
  fromSeq?: number;
  onEvent(event: StreamEvent): void | Promise<void>;
  signal?: AbortSignal;
}

/** Streams a command's output and survives a lost connection: it goes on at the next piece, with none missed or doubled. */
export async function followCommand(
  connect: () => Promise<SidecarClient>,
  { commandId, fromSeq = 0, onEvent, signal }: FollowOptions,
): Promise<CommandResult> {
  let next = fromSeq;
  const receive = (event: StreamEvent) => {
    next = event.event === 'gap' ? event.seq : event.seq + 1;
    return onEvent(event);
  };
  for (;;) {
    const client = await connect();
    let lost = false;
    const closing = client.onClose(() => {
      lost = true;
    });
    try {
      return await client.stream('exec.follow', { commandId, fromSeq: next }, receive, { signal });
    } catch (thrown) {
      const isHandedOver = thrown instanceof LimpetError && thrown.code === 'shutting_down';
      if (!(lost || isHandedOver) || signal?.aborted === true) throw thrown;
    } finally {
      closing.dispose();
    }
  }
}
