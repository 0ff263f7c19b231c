import type { SidecarClient } from '../../client/client';
import { LimpetError } from '../../protocol/errors';
import type { CommandResult, CommandSnapshot, StreamEvent, StreamName } from '../../protocol/values';
import { textOf } from './text-of';

export interface Watcher {
  text(stream: StreamName, text: string): void;
  /** Something was left out, because more is printed than anyone could read. */
  skipped(): void;
}

export interface WatchOptions {
  commandId: string;
  signal: AbortSignal;
  /** How much may come at once before the rest is sampled. */
  burstBytes?: number;
}

const defaultBurst = 1024 * 1024;
const sampleEveryMs = 500;
const sample = { tailLines: 40, maxBytes: 16 * 1024 };

/**
 * Passes on what a command prints, from its beginning and as it appears, over lost connections. A flood is not read
 * whole: from time to time its newest lines are shown, until it calms down.
 */
export async function watchCommand(
  connect: () => Promise<SidecarClient>,
  watcher: Watcher,
  { commandId, signal, burstBytes = defaultBurst }: WatchOptions,
): Promise<Partial<CommandSnapshot> | CommandResult | undefined> {
  let next = 0;
  for (;;) {
    const client = await connect();
    if (signal.aborted) return undefined;
    const flood = new AbortController();
    const end = () => flood.abort();
    signal.addEventListener('abort', end, { once: true });
    let room = burstBytes;
    const receive = (event: StreamEvent) => {
      if (flood.signal.aborted) return;
      if (event.event === 'gap') {
        next = event.seq;
        watcher.skipped();
        return;
      }
      next = event.seq + 1;
      room -= event.data.length;
      watcher.text(event.event, textOf(event));
      if (room < 0) flood.abort();
    };
    let lost = false;
    const closing = client.onClose(() => {
      lost = true;
    });
    try {
      return await client.stream('exec.follow', { commandId, fromSeq: next }, receive, { signal: flood.signal });
    } catch (thrown) {
      if (signal.aborted) return undefined;
      // Told so before the connection is closed: another sidecar goes on with the command.
      lost ||= thrown instanceof LimpetError && thrown.code === 'shutting_down';
      if (!lost && !flood.signal.aborted) throw thrown;
    } finally {
      closing.dispose();
      signal.removeEventListener('abort', end);
    }
    if (lost) continue;
    const calm = await sampleFlood(client, watcher, commandId, next, signal).catch(() => undefined);
    if (calm?.result !== undefined) return calm.result;
    if (calm !== undefined) next = calm.next;
  }
}

/** Shows the newest lines now and then; answers when the command has ended or prints no more than can be followed. */
async function sampleFlood(
  client: SidecarClient,
  watcher: Watcher,
  commandId: string,
  from: number,
  signal: AbortSignal,
): Promise<{ next: number; result?: Partial<CommandSnapshot> }> {
  let next = from;
  for (;;) {
    const waited = await client.request(
      'exec.wait',
      { commandId, timeoutMs: sampleEveryMs, maxOutputBytes: 1 },
      { signal },
    );
    const { chunks, nextSeq } = await client.request('exec.output', { commandId, ...sample }, { signal });
    const isFinished = waited.state === 'finished';
    if (nextSeq - next <= 2 && !isFinished) return { next };
    if (nextSeq > next) {
      watcher.skipped();
      // What is in no log is counted by the cursor, and then the newest lines are those that were shown already.
      for (const chunk of chunks.filter(({ seq }) => seq >= next)) watcher.text(chunk.stream, textOf(chunk));
    }
    next = nextSeq;
    if (isFinished) return { next, result: waited };
  }
}
