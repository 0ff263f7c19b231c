import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 25;

export interface Contender {
  name: string;
  /** Runs once; what it takes is the sample. */
  once(): Promise<unknown>;
  /** How many runs in a row before the next contender has its turn; fast ones need more to be measured at all. */
  block?: number;
}

export const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** The median of each contender in milliseconds; they take turns, so that noise on the machine hits all of them. */
export async function takeTurns(contenders: Contender[], rounds: number): Promise<number[]> {
  const samples = contenders.map((): number[] => []);
  // Those that run often are measured as a process that has been running for a while has them: compiled.
  for (const contender of contenders) for (let i = 0; i < (contender.block ?? 1) * 40; i++) await contender.once();
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (turn + round) % contenders.length;
      const contender = contenders[index];
      if (contender === undefined) continue;
      // What the one before has put off is its own affair and must not fall into this one's time.
      await sleep(pauseMs);
      for (let run = 0; run < (contender.block ?? 1); run++) samples[index]?.push(await milliseconds(contender.once));
    }
  }
  return samples.map(median);
}
