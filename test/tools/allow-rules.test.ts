import assert from 'node:assert/strict';
import { isAllowed } from '../../protocol/tools/allow-rules';

describe('the commands a user allowed', () => {
  const rules = ['npm test', 'git status', ''];
  const covered = ['npm test', ' npm  test ', 'npm test -- --grep x', 'git status -s'];
  const asked = [
    'npm tests',
    'npm',
    'git push',
    'npm test; rm -rf x',
    'npm test && x',
    'npm test | tee x',
    'npm test > x',
    'npm test `x`',
    'npm test $(x)',
    'npm test $X',
    'npm test\nrm x',
    'npm test *',
    'A=1 npm test',
    'npm test "x"',
    'npm test & x',
    'npm\u00a0test',
    'npm test \u202ex',
    'npm test \u0000',
    'nрm test',
    'npm test %1',
    'npm test ^a^b',
    '',
  ];

  it('are plain commands that begin with the words of a rule', () => {
    assert.deepEqual(
      covered.filter((command) => !isAllowed(command, rules)),
      [],
    );
  });

  it('are none that the shell makes more of', () => {
    assert.deepEqual(
      asked.filter((command) => isAllowed(command, rules)),
      [],
    );
  });
});
