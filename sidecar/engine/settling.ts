import { setTimeout as pause } from 'node:timers/promises';
import type { Holder } from '../../protocol/values';
import type { Slot } from '../output/slot';
import { holdersOf } from '../processes/command-processes';
import { commandLine, hasBarelyRun } from '../processes/process-table';
import type { Ending } from './command';
import type { SessionFiles } from './command-files';
import type { ShellHost } from './shell-host';
import { closesSoon } from './slots';

/** What a command left behind often ends in the same moment (a `tee` it wrote to); its output is then still waited for. */
const holderGraceMs = 8;
const mostLooks = 3;
/** A machine may be so busy that a job that was just forked has not had a processor yet. */
const turnGraceMs = 500;

/** How a command ended, and whether nobody prints to its streams any more. */
export interface Settled {
  end: Ending;
  isClosed: boolean;
}

/** Takes what is left of the output of a command that is over, and names who goes on printing. */
export async function settled(end: Ending, slot: Slot, host: ShellHost, files: SessionFiles): Promise<Settled> {
  if (await closesSoon(slot, holderGraceMs)) return { end, isClosed: true };
  const heldOpenBy = await holders(slot, host, files);
  // The last may have ended while it was looked for.
  return slot.drain() === 'closed' ? { end, isClosed: true } : { end: { ...end, heldOpenBy }, isClosed: false };
}

/** Who has a command's streams open. A job that has not become its program yet looks like the shell it was forked from, so it is looked at again. */
export async function holders(slot: Slot, host: ShellHost, files: SessionFiles): Promise<Holder[]> {
  const forked = host.pid === undefined ? undefined : commandLine(host.pid);
  const deadline = performance.now() + turnGraceMs;
  for (let look = 1; ; look++) {
    const found = holdersOf(slot.paths, {
      except: [host.pid === undefined ? undefined : host.identity, ...files.keepers],
      since: host.since,
    });
    const forks = found.filter(({ command }) => command === forked);
    if (forks.length === 0) return found;
    const isEarly = performance.now() < deadline && forks.some(({ pid }) => hasBarelyRun(pid));
    if (look >= mostLooks && !isEarly) {
      const subshell = `${host.dialect.name} (a subshell)`;
      return found.map(({ pid, command }) => ({ pid, command: command === forked ? subshell : command }));
    }
    await pause(holderGraceMs);
  }
}
