import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { forEachShell, until } from '../helpers/engine';
import { isAlive, statusOf } from '../helpers/processes';

forEachShell('Cancelling what has hardly begun', (suite) => {
  const ran = () => existsSync(join(suite.session.cwd, 'ran'));
  /** Nothing else happens in the engine meanwhile. */
  const stopShellNow = () => {
    const { pid } = suite.session.info();
    assert.ok(pid !== null);
    process.kill(pid, 'SIGSTOP');
    // Until then it may still read what it is sent.
    while (statusOf(pid)?.state !== 'T');
    return () => process.kill(pid, 'SIGCONT');
  };
  const commandsOf = () => suite.opened.engine.listCommands({ sessionId: suite.session.id }).commands;

  it('keeps a command from running that still waits for where to print', async () => {
    const { session } = suite;
    for (let n = 0; n < 3; n++) await session.start('sleep 300', { background: true });
    // With that the session is done with the third.
    await immediate();
    const command = await session.start(': > ran');
    assert.equal((await command.cancel()).outcome, 'cancelled');
    await session.expect('echo next', { stdout: 'next\n' });
    assert.ok(!ran());
    assert.equal(session.info().queued, 0);
    assert.equal((await command.wait()).outcome, 'cancelled');
  });

  it('keeps a command from running for which a snapshot is being taken', async () => {
    const { session } = suite;
    await session.run('changed=1');
    // All at once: a snapshot that is taken because the session is idle would come first.
    const goOn = stopShellNow();
    const command = await session.start(': > ran; exit');
    assert.equal(commandsOf().at(-1)?.state, 'running');
    const cancelling = command.cancel();
    goOn();
    assert.equal((await cancelling).outcome, 'cancelled');
    await session.expect('echo $changed', { stdout: '1\n' });
    assert.ok(!ran());
  });

  it('ends a command in the background that the shell had just been given', async () => {
    const { opened, session } = suite;
    const goOn = stopShellNow();
    const starting = opened.engine.start({
      ...{ sessionId: session.id, background: true },
      command: ': > ran; sleep 300',
    });
    await until('it runs', () => commandsOf()[0]?.state === 'running');
    const cancelling = opened.engine.cancel({ commandId: `${session.id}:1` });
    goOn();
    assert.equal((await cancelling).outcome, 'cancelled');
    const { pid } = await starting;
    assert.ok(pid !== undefined);
    // It has told of the end before it is itself at an end.
    await until('its subshell is gone', () => !isAlive(pid));
    await session.expect('echo next', { stdout: 'next\n' });
  });
});
