import assert from 'node:assert/strict';
import { isMissed, isRequired, missingRival, type Row, render } from '../../bench/table';

describe('The table of a benchmark', () => {
  const row = (more: Partial<Row>): Row => ({ what: 'true', ours: '1 ms', rival: '2 ms', ratio: 0.5, ...more });

  it('takes a rival that is not installed for a missed target, and says so', () => {
    const missing = missingRival('true, against tmux pane', 'tmux');
    assert.deepEqual([isRequired(missing), isMissed(missing)], [true, true]);
    assert.match(render([missing]), /true, against tmux pane +tmux is missing +MISSED$/);
  });

  it('can only fail where there is a target', () => {
    assert.deepEqual([isRequired(row({})), isMissed(row({}))], [false, false]);
    assert.equal(isMissed(row({ target: { atMost: 0.4 } })), true);
    assert.equal(isMissed(row({ target: { atLeast: 0.4 } })), false);
    assert.equal(isMissed(row({ target: { atLeast: 0.4 }, ratio: Number.NaN })), true);
  });
});
