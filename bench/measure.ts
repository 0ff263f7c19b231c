import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 25;

export interface Contender {
  name: string;
  /** What must be there before it can run; it is no part of the sample. */
  prepare?(): Promise<unknown>;
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

/** As often as one that runs often has a turn in twenty rounds: then it is compiled, as in a process that runs for a while. */
const warmUpsOf = (contenders: Contender[]) => Math.max(40, 20 * Math.max(...contenders.map(({ block = 1 }) => block)));

/** The median of each contender in milliseconds; they take turns, so that noise on the machine hits all of them. */
export async function takeTurns(
  contenders: Contender[],
  rounds: number,
  warmUps = warmUpsOf(contenders),
): Promise<number[]> {
  const samples = contenders.map((): number[] => []);
  for (const contender of contenders) {
    for (let i = 0; i < warmUps; i++) {
      await contender.prepare?.();
      await contender.once();
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (turn + round) % contenders.length;
      const contender = contenders[index];
      if (contender === undefined) continue;
      for (let run = 0; run < (contender.block ?? 1); run++) {
        await contender.prepare?.();
        // What the one before has put off is its own affair and must not fall into this one's time.
        if (run === 0) await sleep(pauseMs);
        samples[index]?.push(await milliseconds(contender.once));
      }
    }
  }
  return samples.map(median);
}

/** The mean of many runs with nothing between them: what was put off in one is paid for in the next. */
export async function meanInARow(count: number, once: () => Promise<unknown>): Promise<number> {
  const took = await milliseconds(async () => {
    for (let run = 0; run < count; run++) await once();
  });
  return took / count;
}
