import { setTimeout as sleep } from 'node:timers/promises';
import { keepMemoryFlat } from '../../sidecar/memory';
import { assertDone, openEngine } from '../engine';
import { filesUnder, openDescriptors, residentBytes, zombies } from './footprint';
import { serve } from './serve';

const settleMs = 500;
const longestSettleMs = 10_000;

export interface Footprint {
  rss: number;
  descriptors: number;
  zombies: number;
  files: number;
  /** Those of the newest commands are kept. */
  logs: number;
}

/** As a sidecar does. */
keepMemoryFlat();

void openEngine().then(async ({ engine, directory, runtimeDir, stateDir, dispose }) => {
  const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
  const run = async (count: number): Promise<Footprint> => {
    for (let i = 0; i < count; i++) {
      assertDone(await engine.run({ sessionId, command: i % 10 === 0 ? 'ls /' : 'echo hello' }));
    }
    const logs = await settled(() => filesUnder(stateDir));
    const files = await settled(() => filesUnder(runtimeDir));
    return { rss: await residentBytes(), descriptors: openDescriptors(), zombies: zombies(), files, logs };
  };
  serve({ 'run 10': () => run(10), 'run 990': () => run(990), 'run 9000': () => run(9000) }, dispose);
});

/** Files are made and removed while the session is idle; how long that takes is the disk's business. */
async function settled(count: () => number): Promise<number> {
  const deadline = performance.now() + longestSettleMs;
  for (let before = Number.NaN; ; ) {
    const now = count();
    if (now === before || performance.now() > deadline) return now;
    before = now;
    await sleep(settleMs);
  }
}
