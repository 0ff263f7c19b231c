import type { Slot } from '../output/slot';
import type { Command, CommandRequest, Ending } from './command';

/**
 * The records that every command leaves in its session's journal, put into words by hand: to have them stringified as
 * objects costs more than everything else that is noted of a quick command. They are `JournalRecord`s like all others.
 */

/** The kernel's monotonic clock at this process's zero: the same for every process until the machine starts anew. */
const monotonicZero = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** A moment of another process's monotonic clock in this process's terms. */
export const fromMonotonic = (monotonic: number) => monotonic - monotonicZero;

export function takenLine(number: number, request: CommandRequest): string {
  const { text, background, origin, stdin, overrides, timeoutMs, maxOutputBytes } = request;
  const input = stdin.kind === 'none' ? '{"kind":"none"}' : JSON.stringify(stdin);
  const own = overrides === undefined ? '' : `,"overrides":${JSON.stringify(overrides)}`;
  const time = timeoutMs === undefined ? '' : `,"timeoutMs":${timeoutMs}`;
  return (
    `["taken",${number},{"text":${JSON.stringify(text)},"background":${background},"origin":${JSON.stringify(origin)},` +
    `"stdin":${input}${own}${time},"maxOutputBytes":${maxOutputBytes}}]`
  );
}

export function beganLine({ number, startedAt, startedMonotonic }: Command, slot: Slot): string {
  const monotonic = startedMonotonic + monotonicZero;
  return `["began",${number},{"slot":${slot.number},"startedAt":${startedAt},"monotonic":${monotonic}}]`;
}

export function chunkLine(number: number, stream: string, size: number, logEnd: number, time: number): string {
  return `["chunk",${number},"${stream}",${size},${logEnd},${time}]`;
}

export function endedLine({ number, tookMs, startedAt, output }: Command, end: Ending): string {
  const { outcome, exitCode, signal, cwd, notes, heldOpenBy } = end;
  const { bytes, unlogged, log } = output;
  const name = signal === null ? 'null' : `"${signal}"`;
  const said = notes.length === 0 ? '[]' : JSON.stringify(notes);
  const holders = heldOpenBy === undefined ? '' : `,"heldOpenBy":${JSON.stringify(heldOpenBy)}`;
  const stopped = log.stopped === undefined ? '' : `,"stopped":${JSON.stringify(log.stopped)}`;
  return (
    `["ended",${number},{"outcome":"${outcome}","exitCode":${exitCode},"signal":${name},"cwd":${JSON.stringify(cwd)},` +
    `"notes":${said}${holders}},{"tookMs":${tookMs},"startedAt":${startedAt}},` +
    `{"stdout":${bytes.stdout},"stderr":${bytes.stderr},"unlogged":${unlogged}${stopped}}]`
  );
}

export function freedLine(number: number): string {
  return `["freed",${number}]`;
}
