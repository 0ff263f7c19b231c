import assert from 'node:assert/strict';
import fs, { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { forEachShell } from '../helpers/engine';

const refusal = (code: string) => Object.assign(new Error(`${code}: refused`), { code });

forEachShell('A command that ran before something failed', (suite) => {
  const ran = () => existsSync(join(suite.session.cwd, 'ran'));
  afterEach(() => mock.restoreAll());

  /** The shell's boot text is the first that a new shell needs. */
  const refuseNewShells = (code: string) => {
    const write = fs.writeFileSync;
    mock.method(fs, 'writeFileSync', (...args: Parameters<typeof write>) => {
      if (String(args[0]).endsWith('/boot')) throw refusal(code);
      return write(...args);
    });
  };

  for (const [code, why] of [
    ['ENOSPC', /The disk is full/],
    ['EISDIR', /Something went wrong inside the sidecar/],
  ] as const) {
    it(`tells its exit code when it ended the shell and another cannot be started for ${code}`, async () => {
      const { session } = suite;
      refuseNewShells(code);
      const { outcome, exitCode, stdout, notes } = await session.run('echo out; : > ran; exit 3');
      assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'shell_exited', exitCode: 3, stdout: 'out\n' });
      assert.match(notes.join(), /no new one could be started yet/);
      assert.match(notes.join(), why);
      assert.ok(ran());
      mock.restoreAll();
      await session.expect('echo next', { stdout: 'next\n', notes: 'some' });
    });
  }

  it('is never answered as one that did not run', async () => {
    const { session } = suite;
    const write = fs.writeSync;
    let isAfter = false;
    // What the shell is sent after a command that may have changed its traps.
    mock.method(fs, 'writeSync', (...args: Parameters<typeof write>) => {
      if (isAfter) throw refusal('EIO');
      const isCommand = String(args[1]).includes('<>');
      const written = write(...args);
      isAfter = isCommand;
      return written;
    });
    const { outcome, exitCode, stdout, notes } = await session.run('trap - USR1; echo out; : > ran');
    mock.restoreAll();
    assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'signaled', exitCode: null, stdout: 'out\n' });
    assert.match(notes.join(), /its exit code is unknown.*input\/output error/);
    assert.ok(ran());
    await session.expect('echo next', { stdout: 'next\n' });
  });
});
