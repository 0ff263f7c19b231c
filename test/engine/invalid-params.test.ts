import assert from 'node:assert/strict';
import { methods } from '../../protocol/methods';
import { describeIssues } from '../../sidecar/invalid-params';

describe('The words for a wrong parameter', () => {
  const told = (params: object) => {
    const { error } = methods['exec.output'].params.safeParse({ commandId: 's-1:1', ...params });
    return describeIssues('exec.output', error?.issues ?? [], 'line').message;
  };

  it('have the right article', () => {
    assert.equal(told({ maxBytes: 1.5 }), '"max_bytes" must be a whole number.');
    assert.equal(told({ grep: 1 }), '"grep" must be a string.');
    const { error } = methods['session.create'].params.safeParse([]);
    assert.match(describeIssues('session.create', error?.issues ?? [], 'line').message, /must be an object\./);
  });
});
