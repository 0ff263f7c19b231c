import os from 'node:os';
import type { CommandSnapshot } from '../protocol/values';

/** The code a shell would give for the same end. */
export function exitCodeOf(result: Pick<CommandSnapshot, 'outcome' | 'exitCode' | 'signal'>): number {
  if (result.outcome === 'timed_out') return 124;
  if (result.outcome === 'cancelled') return 130;
  if (typeof result.exitCode === 'number') return result.exitCode;
  const number = Object.entries(os.constants.signals).find(([name]) => name === result.signal)?.[1];
  return number === undefined ? 1 : 128 + number;
}
