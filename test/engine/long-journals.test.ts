import assert from 'node:assert/strict';
import { readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type KillableEngine, Succession } from '../helpers/killable-engine';
import { isAlive } from '../helpers/processes';

describe('The journal of a session', () => {
  let succession: Succession;
  let first: KillableEngine;
  let sessionId: string;
  let pid: number;

  beforeEach(async () => {
    succession = await Succession.begin();
    first = await succession.killable();
    const info = await first.create({ shell: 'bash', cwd: succession.root });
    ({ sessionId } = info);
    pid = info.pid ?? 0;
  });
  afterEach(() => succession.end());

  const journal = () => join(succession.runtimeDir, 'sessions', sessionId, 'journal');

  it('does not repeat what a command was given once it is over', async () => {
    const { stdout } = await first.run({
      sessionId,
      command: 'cat; echo $GIVEN',
      stdin: 'typed ',
      env: { GIVEN: 'set' },
    });
    assert.equal(stdout, 'typed set\n');
    await first.call('leave', undefined);
    assert.doesNotMatch(readFileSync(journal(), 'utf8'), /typed|"set"/);
    const [command] = (await succession.next()).listCommands({ sessionId }).commands;
    assert.deepEqual([command?.command, command?.exitCode], ['cat; echo $GIVEN', 0]);
  });

  it('is read though it is longer than a string can be', async () => {
    await first.run({ sessionId, command: 'x=kept' });
    await first.call('leave', undefined);
    truncateSync(journal(), 520 * 1024 * 1024);
    assert.equal((await (await succession.next()).run({ sessionId, command: 'echo $x' })).stdout, 'kept\n');
  });

  it('that is too long to be read is no reason to end the session', async () => {
    await first.run({ sessionId, command: 'x=kept' });
    await first.call('leave', undefined);
    const { size } = statSync(journal());
    truncateSync(journal(), 3 * 1024 * 1024 * 1024);
    assert.deepEqual((await succession.next()).listSessions(), []);
    assert.ok(isAlive(pid));
    truncateSync(journal(), size);
    assert.equal((await (await succession.next()).run({ sessionId, command: 'echo $x' })).stdout, 'kept\n');
  });
});
