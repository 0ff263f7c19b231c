import assert from 'node:assert/strict';
import { keepMemoryFlat } from '../../sidecar/memory';
import { openEngine } from '../engine';
import { milliseconds } from '../measure';
import { residentBytes } from './footprint';
import { serve } from './serve';

keepMemoryFlat();

/** One session at first, many on request; samples of `true` from either. */
void openEngine().then(async ({ engine, directory, dispose }) => {
  const open = async () => (await engine.createSession({ shell: 'bash', cwd: directory })).sessionId;
  const first = await open();
  const sessions = [first];
  let turn = 0;
  const sample = async (next: () => string) => {
    const samples: number[] = [];
    for (let i = 0; i < 50; i++) {
      const sessionId = next();
      samples.push(
        await milliseconds(async () => {
          const { exitCode } = await engine.run({ sessionId, command: 'true' });
          assert.equal(exitCode, 0);
        }),
      );
    }
    return samples;
  };
  const answers: Record<string, () => Promise<unknown>> = {
    'open 200': async () => {
      await sample(() => first);
      const before = await residentBytes();
      while (sessions.length < 200) sessions.push(await open());
      return ((await residentBytes()) - before) / (sessions.length - 1);
    },
    'sample one': () => sample(() => first),
    'sample each in turn': () => sample(() => sessions[turn++ % sessions.length] ?? first),
  };
  serve(answers, dispose);
});
