import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import { forEachShell, until } from '../helpers/engine';
import { isAlive, statusOf } from '../helpers/processes';

forEachShell('Cancelling', (suite) => {
  it('answers with the outcome, however long it takes to start a shell in place of one that had to be ended', async () => {
    const { opened, shell } = suite;
    const home = await opened.directory();
    await writeFile(join(home, shell === 'bash' ? '.bashrc' : '.zshrc'), 'sleep 2.5');
    const session = await opened.session(shell, { env: { HOME: home, ZDOTDIR: home }, profile: 'user' });
    const command = await session.start("trap '' INT; echo ready; while :; do :; done");
    await command.wait([{ output: 'ready' }]);
    assert.equal((await command.cancel()).outcome, 'cancelled');
    await session.expect('echo next', { stdout: 'next\n' });
  });

  it('of a command that took its shell along leaves the next shell alone, which may not be ready yet', async () => {
    const { opened, shell } = suite;
    const home = await opened.directory();
    const [begun, go] = [join(home, 'begun'), join(home, 'go')];
    await writeFile(go, '');
    const wait = `: >'${begun}'; while ! [ -e '${go}' ]; do sleep 0.01; done; FROM_RC=here`;
    await writeFile(join(home, shell === 'bash' ? '.bashrc' : '.zshrc'), wait);
    const session = await opened.session(shell, { env: { HOME: home, ZDOTDIR: home }, profile: 'user' });
    await session.run("kept=yes; f() { echo 'from f'; }");
    await Promise.all([rm(go), rm(begun)]);
    const command = await session.start('kept=still; exit 7');
    await until('the next shell reads the rc file', () => existsSync(begun));
    const cancel = command.cancel();
    await writeFile(go, '');
    assert.equal((await cancel).outcome, 'cancelled');
    await session.expect('echo $kept $FROM_RC; f; (exit 3)', { stdout: 'still here\nfrom f\n', exitCode: 3 });
  });

  it('with a hang-up leaves what earlier commands started alone', async () => {
    const { session } = suite;
    const { pid } = session.info();
    const { stdout } = await session.run('sleep 300 >/dev/null 2>&1 & echo $!');
    const behind = await session.start('echo ready; sleep 300', { background: true });
    await behind.wait([{ output: 'ready' }]);
    const command = await session.start('echo ready; x=$(while :; do :; done)');
    await command.wait([{ output: 'ready' }]);
    await command.cancel('SIGHUP');
    assert.ok(isAlive(Number(stdout)));
    assert.equal((await behind.output()).finished, false);
    assert.equal(session.info().pid, pid);
  });

  it('with a signal that ends programs is tried again where a shell goes on, and keeps the shell', async () => {
    const { session } = suite;
    const { pid } = session.info();
    await session.run('kept=yes');
    const untilInterrupted = 'trap seen=1 INT; echo ready; while [ -z "$seen" ]; do :; done; trap - INT';
    const command = await session.start(`${untilInterrupted}; while :; do :; done`);
    await command.wait([{ output: 'ready' }]);
    assert.equal((await command.cancel('SIGTERM')).outcome, 'cancelled');
    assert.equal(session.info().pid, pid);
    await session.expect('echo $kept', { stdout: 'yes\n' });
  });

  for (const command of [
    '{ hang; touch a; } 2>/dev/null; touch b',
    'f() { hang; touch a; }; f 2>/dev/null; touch b',
    'for n in 1 2; do hang; touch a; done >/dev/null 2>&1; touch b',
    'exec 2>/dev/null; hang; touch a; hang; touch b',
    '{ hang | cat; touch a; } 2>/dev/null && touch b || touch c',
    '{ (hang); touch a; } 2>/dev/null; touch b',
  ]) {
    for (const how of ['cancelled', 'timed_out'] as const) {
      it(`leaves out the rest of "${command}" when it is ${how.replace('_', ' ')}`, async () => {
        const { session } = suite;
        await session.run('hang() { : >begun; sleep 300; }');
        const running = await session.start(command, how === 'timed_out' ? { timeoutMs: 1000 } : {});
        await until('it hangs', () => existsSync(join(session.cwd, 'begun')));
        if (how === 'cancelled') await running.cancel();
        assert.equal((await running.wait()).outcome, how);
        await session.expect('ls', { stdout: 'begun\n' });
        assert.equal(session.info().restarts, 0);
      });
    }
  }

  it('leaves a job of an earlier command stopped that somebody had stopped', async () => {
    const { session } = suite;
    const { stdout } = await session.run('sleep 300 & kill -STOP $!; echo $!');
    const job = Number(stdout);
    await until('it is stopped', () => statusOf(job)?.state === 'T');
    const command = await session.start('echo ready; sleep 300');
    await command.wait([{ output: 'ready' }]);
    await command.cancel();
    assert.equal(statusOf(job)?.state, 'T');
    process.kill(job, 'SIGKILL');
  });

  describe('that fails half-way', () => {
    beforeEach(() => {
      holdAt((point) => {
        if (point !== 'interrupt-held') return;
        holdAt(undefined);
        throw new Error('The processes could not be looked at.');
      });
    });
    afterEach(() => holdAt(undefined));

    it('leaves nothing stopped, and can be tried again', async () => {
      const { session } = suite;
      const command = await session.start('echo ready; while :; do sleep 0.01; done');
      await command.wait([{ output: 'ready' }]);
      await assert.rejects(command.cancel(), /could not be looked at/);
      const pid = session.info().pid ?? 0;
      await until('the shell goes on', () => statusOf(pid)?.state !== 'T');
      assert.equal((await command.cancel()).outcome, 'cancelled');
      await session.expect('echo next', { stdout: 'next\n' });
    });

    it('is tried again by itself when the time of a command is up', async () => {
      const { session } = suite;
      const { outcome } = await session.run('while :; do sleep 0.01; done', { timeoutMs: 100 });
      assert.equal(outcome, 'timed_out');
      await session.expect('echo next', { stdout: 'next\n' });
    });
  });

  // zsh takes a program that is stopped for one that has ended.
  if (suite.shell === 'bash') {
    it('ends a program of its own that was stopped', async () => {
      const { session } = suite;
      const command = await session.start("sh -c 'echo $$; kill -STOP $$; echo no'");
      await command.wait([{ output: '\n' }]);
      const pid = Number(await command.stdout());
      await until('it is stopped', () => statusOf(pid)?.state === 'T');
      assert.equal((await command.cancel()).outcome, 'cancelled');
      assert.ok(!isAlive(pid));
      assert.equal((await command.wait()).stdout, `${pid}\n`);
      await session.expect('echo next', { stdout: 'next\n' });
    });
  }
});
