import assert from 'node:assert/strict';
import { takeTurns } from '../../bench/measure';

describe('Contenders of a benchmark', () => {
  it('are warmed up equally, take turns in changing order, and each is made ready before it runs', async () => {
    const log: string[] = [];
    const contender = (name: string, block: number) => ({
      name,
      block,
      async prepare() {
        log.push(`${name} ready`);
      },
      async once() {
        log.push(name);
      },
    });
    await takeTurns([contender('a', 2), contender('b', 1)], 2, 1);
    const each = (...names: string[]) => names.flatMap((name) => [`${name} ready`, name]);
    assert.deepEqual(log, [...each('a', 'b'), ...each('a', 'a', 'b'), ...each('b', 'a', 'a')]);
  });
});
