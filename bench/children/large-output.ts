import { keepMemoryFlat } from '../../sidecar/memory';
import { openEngine } from '../engine';
import { drainPipe } from '../rivals/raw-pipe';
import { forgetPeak, peakBytes, residentBytes } from './footprint';
import { serve } from './serve';

keepMemoryFlat();

const output = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' 'x' | fold -w 99`;

async function growth(work: (bytes: number) => Promise<unknown>): Promise<number> {
  await work(10_000_000);
  const before = await residentBytes();
  forgetPeak();
  await work(1_000_000_000);
  return peakBytes() - before;
}

void openEngine().then(async ({ engine, directory, dispose }) => {
  const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
  serve(
    {
      engine: () => growth((bytes) => engine.run({ sessionId, command: output(bytes) })),
      'raw pipe': () => growth((bytes) => drainPipe(output(bytes))),
    },
    dispose,
  );
});
