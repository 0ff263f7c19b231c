import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { StandardInput } from '../../sidecar/engine/standard-input';
import { until } from '../helpers/engine';

describe('An input that is to be ended', () => {
  let directory: string;
  let reader: number;
  let input: StandardInput;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    const fifo = join(directory, 'i0');
    execFileSync('mkfifo', [fifo]);
    reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    input = new StandardInput([], { early: () => {}, kept: () => {} });
    input.open(fifo);
  });
  afterEach(() => {
    mock.timers.reset();
    input.dispose();
    closeSync(reader);
    rmSync(directory, { recursive: true, force: true });
  });

  /** Nothing has come yet, which is told otherwise than that nothing will. */
  const isEnded = () => {
    try {
      return readSync(reader, Buffer.alloc(1)) === 0;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
      return false;
    }
  };

  it('is ended once its command has opened it', async () => {
    let isOpened = false;
    input.end(() => isOpened);
    assert.equal(isEnded(), false);
    isOpened = true;
    await until('its end is read', isEnded);
  });

  it('takes many pieces at once, and says of each that it was not taken when it goes away', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on('warning', warned);
    try {
      const taken = Promise.all(Array.from({ length: 12 }, () => input.write(Buffer.alloc(100_000))));
      // A warning comes a tick after what it is about.
      await immediate();
      input.dispose();
      assert.deepEqual(new Set(await taken), new Set([false]));
      assert.deepEqual(warnings, []);
    } finally {
      process.off('warning', warned);
    }
  });

  it('is looked after ever more seldom while its command does not open it', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    let looks = 0;
    input.end(() => {
      looks++;
      return false;
    });
    for (let ms = 0; ms < 10_000; ms += 5) mock.timers.tick(5);
    assert.ok(looks > 10 && looks < 60, `${looks} looks`);
  });
});
