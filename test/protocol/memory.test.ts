import assert from 'node:assert/strict';
import { notSparingMemory, sparingMemory } from '../../protocol/memory';

describe('the environment of a sidecar that spares memory', () => {
  const env = { HOME: '/home/me', EMPTY: '' };

  it('has settings that are taken back for commands', () => {
    const sparing = sparingMemory(env);
    assert.equal(sparing.MALLOC_ARENA_MAX, '2');
    assert.deepEqual(notSparingMemory(sparing), env);
  });

  it('keeps the settings of whoever has some, for commands too', () => {
    const own = { ...env, MALLOC_TRIM_THRESHOLD_: '1' };
    assert.deepEqual(sparingMemory(own), own);
    assert.deepEqual(notSparingMemory(sparingMemory(own)), own);
  });
});
