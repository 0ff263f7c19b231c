import assert from 'node:assert/strict';
import { keepMemoryFlat } from '../../sidecar/memory';
import { assertDone, openEngine } from '../engine';
import { drainPipe } from '../rivals/raw-pipe';
import { forgetPeak, peakBytes, residentBytes } from './footprint';
import { serve } from './serve';

keepMemoryFlat();

const output = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' 'x' | fold -w 99`;

/** By how much the process grows at most while a gigabyte passes through it. `work` answers with the bytes it saw. */
async function growth(work: (bytes: number) => Promise<number>): Promise<number> {
  await work(10_000_000);
  const before = await residentBytes();
  forgetPeak();
  assert.ok((await work(1_000_000_000)) >= 1_000_000_000);
  return peakBytes() - before;
}

void openEngine().then(async ({ engine, directory, dispose }) => {
  const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
  serve(
    {
      engine: () =>
        growth(async (bytes) => {
          const result = await engine.run({ sessionId, command: output(bytes) });
          assertDone(result);
          return result.stdoutBytes;
        }),
      'raw pipe': () => growth((bytes) => drainPipe(output(bytes))),
    },
    dispose,
  );
});
