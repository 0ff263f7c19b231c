import assert from 'node:assert/strict';
import { forEachShell, until } from '../helpers/engine';
import { statusOf } from '../helpers/processes';

forEachShell('Commands in the background that have hardly begun', (suite) => {
  const pidOf = () => {
    const { pid } = suite.session.info();
    assert.ok(pid !== null);
    return pid;
  };

  it('are given to the next shell when theirs ended before it read them', async () => {
    const { session, opened } = suite;
    const shell = pidOf();
    process.kill(shell, 'SIGSTOP');
    // Until then it may still read what it is sent.
    await until('the shell is stopped', () => statusOf(shell)?.state === 'T');
    const command = 'echo ran >> ran; echo out; (exit 4)';
    const starting = opened.engine.start({ sessionId: session.id, command, background: true });
    const isGiven = () => opened.engine.listCommands({ sessionId: session.id }).commands[0]?.state === 'running';
    await until('it was given to the shell', isGiven);
    process.kill(shell, 'SIGKILL');
    const { commandId } = await starting;
    const { outcome, exitCode, stdout } = await opened.engine.wait({ commandId });
    assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'exited', exitCode: 4, stdout: 'out\n' });
    assert.equal(await session.text('cat ran'), 'ran\n');
  });

  it('end when they are cancelled at once, every time', async () => {
    const { session } = suite;
    for (let n = 0; n < 30; n++) {
      const command = await session.start('echo a; sleep 20; echo b', { background: true });
      const { outcome } = await command.cancel();
      const { notes } = await command.wait();
      assert.deepEqual({ n, outcome, notes }, { n, outcome: 'cancelled', notes: [] });
    }
  });
});
