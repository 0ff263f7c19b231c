import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import { readsStandardInput } from '../../sidecar/processes/activity';
import { forEachShell, until } from '../helpers/engine';
import { statusOf } from '../helpers/processes';

forEachShell('A session whose directory is removed as a command is given to its shell', (suite) => {
  // The shell may be saving its state there at this very moment.
  const removeDirectory = () =>
    rmSync(join(suite.opened.runtimeDir, 'sessions', suite.session.id), { recursive: true, maxRetries: 10 });

  beforeEach(async () => {
    await suite.session.run('kept=here');
    holdAt((point) => {
      if (point !== 'command-noted') return;
      holdAt(undefined);
      removeDirectory();
    });
  });
  afterEach(() => holdAt(undefined));

  it('never makes it look like a command that failed', async () => {
    const { session } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    holdAt((point) => {
      if (point === 'command-noted') removeDirectory();
      if (point !== 'command-sent') return;
      holdAt(undefined);
      // Nothing is made again while this waits: the shell is through with the command, and waits for its next line.
      const deadline = Date.now() + 15_000;
      while (!readsStandardInput(pid)) assert.ok(Date.now() < deadline, 'the shell has read its lines');
    });
    const { outcome, exitCode, stdout, notes } = await session.run('echo out; false');
    assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'signaled', exitCode: null, stdout: '' });
    assert.match(notes.join(), /not known whether it ran/);
    await session.expect('echo $kept; (exit 3)', { stdout: 'here\n', exitCode: 3 });
  });

  it('runs it when the shell gets to it after the directory was made again', async () => {
    const { session, opened } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    process.kill(pid, 'SIGSTOP');
    await until('the shell is stopped', () => statusOf(pid)?.state === 'T');
    const running = session.run('echo out; false');
    const directory = join(opened.runtimeDir, 'sessions', session.id);
    await until('it is whole again', () => ['c', 'ctl', 'e2'].every((name) => existsSync(join(directory, name))));
    process.kill(pid, 'SIGCONT');
    const { outcome, exitCode, stdout } = await running;
    assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'exited', exitCode: 1, stdout: 'out\n' });
  });

  it('goes on when only what was in it is removed', async () => {
    const { session, opened } = suite;
    holdAt(undefined);
    const directory = join(opened.runtimeDir, 'sessions', session.id);
    const names = readdirSync(directory).filter((name) => name !== 'journal');
    for (const name of names) rmSync(join(directory, name));
    await until('it is whole again', () =>
      ['ctl', 'e2', 'i2', 'owner'].every((name) => existsSync(join(directory, name))),
    );
    await session.expect('echo $kept; echo err >&2; (exit 3)', { stdout: 'here\n', stderr: 'err\n', exitCode: 3 });
  });

  it('refuses one in the background, which was not run', async () => {
    const { session } = suite;
    await assert.rejects(session.start('echo out; false', { background: true }), { code: 'overloaded' });
    await session.expect('echo $kept; (exit 3)', { stdout: 'here\n', exitCode: 3 });
  });
});
