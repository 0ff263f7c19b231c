import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import { forEachShell, until } from '../helpers/engine';

forEachShell('A session whose directory is removed as a command is given to its shell', (suite) => {
  beforeEach(async () => {
    await suite.session.run('kept=here');
    holdAt((point) => {
      if (point !== 'command-noted') return;
      holdAt(undefined);
      rmSync(join(suite.opened.runtimeDir, 'sessions', suite.session.id), { recursive: true });
    });
  });
  afterEach(() => holdAt(undefined));

  it('never makes it look like a command that failed', async () => {
    const { session } = suite;
    const { outcome, exitCode, stdout, notes } = await session.run('echo out; false');
    assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'signaled', exitCode: null, stdout: '' });
    assert.match(notes.join(), /not known whether it ran/);
    await session.expect('echo $kept; (exit 3)', { stdout: 'here\n', exitCode: 3 });
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
