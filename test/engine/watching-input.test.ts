import assert from 'node:assert/strict';
import { mock } from 'node:test';
import type { Command } from '../../sidecar/engine/command';
import { watchInput } from '../../sidecar/engine/input-watch';

describe('Watching whether a command waits for input', () => {
  let looks: number;
  let isAsking: boolean;
  let isFailing: boolean;
  let told: string[];
  let command: Command;
  const watch = (who: string) =>
    watchInput(
      command,
      () => {
        if (isFailing) throw new Error('no more files can be opened');
        looks++;
        return isAsking;
      },
      () => told.push(who),
    );
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5) mock.timers.tick(5);
  };
  beforeEach(() => {
    looks = 0;
    isAsking = false;
    isFailing = false;
    told = [];
    command = {} as Command;
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(() => mock.timers.reset());

  it('looks at once and soon, then ever more seldom, and tells at the next look', () => {
    const stop = watch('one');
    assert.equal(looks, 1);
    pass(25);
    assert.equal(looks, 2);
    pass(10_000);
    assert.ok(looks < 50, `${looks} looks`);
    isAsking = true;
    pass(250);
    assert.deepEqual(told, ['one']);
    stop();
    const before = looks;
    pass(1000);
    assert.equal(looks, before);
  });

  it('says at the beginning if it cannot look, and later looks again', () => {
    isFailing = true;
    assert.throws(() => watch('one'), /no more files/);
    assert.throws(() => watch('one'), /no more files/);
    isFailing = false;
    const stop = watch('one');
    isFailing = true;
    pass(1000);
    isFailing = false;
    isAsking = true;
    pass(250);
    assert.deepEqual(told, ['one']);
    stop();
  });

  it('looks at once for each who begins to wait, and then once for all', () => {
    const stops = ['one', 'two', 'three'].map(watch);
    assert.equal(looks, 3);
    pass(25);
    assert.equal(looks, 4);
    pass(10_000);
    assert.ok(looks < 50, `${looks} looks`);
    isAsking = true;
    pass(250);
    assert.deepEqual(told, ['one', 'two', 'three']);
    for (const stop of stops) stop();
  });
});
