import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

/** Bytes resident after everything that is garbage has gone. */
export async function residentBytes(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.();
    await setImmediate();
  }
  return process.memoryUsage.rss();
}

/** Starts counting the peak anew. */
export function forgetPeak(): void {
  writeFileSync('/proc/self/clear_refs', '5');
}

export function peakBytes(): number {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

export const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

export const filesUnder = (directory: string): number => readdirSync(directory, { recursive: true }).length;

/** Dead children of this process that nobody has collected. */
export function zombies(): number {
  let count = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' && Number(parent) === process.pid) count++;
    } catch {
      // Gone in the meantime.
    }
  }
  return count;
}
