import { readdirSync } from 'node:fs';
import { everyProcess, processesMarked } from '../helpers/processes';
import { rssOf } from '../helpers/sidecar';

export interface Sample {
  minutes: number;
  rss: number;
  descriptors: number;
  processes: number;
  /** Of the sidecar, what keeps FIFOs open included. */
  children: number;
  files: number;
  zombies: number;
}

const count = (read: () => readonly unknown[]): number => {
  try {
    return read().length;
  } catch {
    return 0;
  }
};

/** What the sidecar takes at this moment. Its sessions come and go, so their share of files and descriptors is told apart. */
export function sample(pid: number, mark: string, runtimeDir: string, minutes: number): Sample | undefined {
  try {
    const children = everyProcess().filter(({ parent }) => parent === pid);
    return {
      minutes,
      rss: rssOf(pid),
      descriptors: count(() => readdirSync(`/proc/${pid}/fd`)),
      processes: processesMarked(mark).length,
      files: count(() => readdirSync(runtimeDir, { recursive: true })),
      children: children.length,
      zombies: children.filter(({ state }) => state === 'Z').length,
    };
  } catch {
    return undefined;
  }
}

/** Least squares: how much a figure grows per ten minutes. */
export function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const n = samples.length;
  if (n < 2) return 0;
  const meanX = samples.reduce((sum, { minutes }) => sum + minutes, 0) / n;
  const meanY = samples.reduce((sum, one) => sum + of(one), 0) / n;
  let above = 0;
  let below = 0;
  for (const one of samples) {
    above += (one.minutes - meanX) * (of(one) - meanY);
    below += (one.minutes - meanX) ** 2;
  }
  return below === 0 ? 0 : (above / below) * 10;
}

/** Of each minute the sample with the smallest resident set: what another has more is garbage. */
export function leastPerMinute(samples: readonly Sample[]): Sample[] {
  const least = new Map<number, Sample>();
  for (const one of samples) {
    const minute = Math.floor(one.minutes);
    if (one.rss < (least.get(minute)?.rss ?? Number.POSITIVE_INFINITY)) least.set(minute, one);
  }
  return [...least.values()];
}

/** The share by which the resident set grows per ten minutes. */
export function growthOfRss(samples: readonly Sample[]): number {
  const mean = samples.reduce((sum, { rss }) => sum + rss, 0) / Math.max(1, samples.length);
  return mean === 0 ? 0 : slope(samples, ({ rss }) => rss) / mean;
}
