import { setTimeout as sleep } from 'node:timers/promises';
import { keepMemoryFlat } from '../../sidecar/memory';
import { openEngine } from '../engine';
import { filesUnder, openDescriptors, residentBytes, zombies } from './footprint';
import { serve } from './serve';

const settleMs = 500;

export interface Footprint {
  rss: number;
  descriptors: number;
  zombies: number;
  files: number;
}

/** As a sidecar does. */
keepMemoryFlat();

void openEngine().then(async ({ engine, directory, runtimeDir, stateDir, dispose }) => {
  const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
  const run = async (count: number): Promise<Footprint> => {
    for (let i = 0; i < count; i++) await engine.run({ sessionId, command: i % 10 === 0 ? 'ls /' : 'echo hello' });
    // What was put off until the session is idle is done by then.
    await sleep(settleMs);
    return {
      rss: await residentBytes(),
      descriptors: openDescriptors(),
      zombies: zombies(),
      files: filesUnder(runtimeDir) + filesUnder(stateDir),
    };
  };
  serve({ 'run 1000': () => run(1000), 'run 9000': () => run(9000) }, dispose);
});
