import assert from 'node:assert/strict';
import { climb } from '../../sidecar/processes/kill-ladder';

describe('What is held while processes are looked for', () => {
  it('is released also when they cannot be looked for', async () => {
    let isHeld = false;
    const climbing = climb({
      rungs: [{ signal: 'SIGINT', graceMs: 10 }],
      processes: () => {
        throw new Error('ps could not be run');
      },
      ended: () => false,
      pause: async () => {},
      hold: () => {
        isHeld = true;
      },
      release: () => {
        isHeld = false;
      },
    });
    await assert.rejects(climbing, /ps could not be run/);
    assert.equal(isHeld, false);
  });
});
