import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import { forEachShell, timesOut, until } from '../helpers/engine';
import { fixture } from '../helpers/fixtures';
import { isAlive } from '../helpers/processes';

forEachShell('Time', (suite) => {
  for (const [name, command] of [
    ['an external command', 'sleep 300'],
    ['a loop of the shell itself', 'while :; do :; done'],
    ['a pipeline', 'yes | cat >/dev/null'],
    ['a command substitution', 'y=$(sleep 300)'],
    ['a subshell', '(sleep 300)'],
    ['a function', 'f() { sleep 300; }; f'],
    ['a command that ignores INT and TERM', fixture('ignores-signals.sh').concat(' >/dev/null')],
  ] as const) {
    it(`keeps the shell, its variables and the partial output when ${name} times out`, async () => {
      const { session } = suite;
      await session.run('x=kept; mkdir d');
      const printing = `x=changed; cd '${session.cwd}/d'; echo partial; echo err >&2`;
      const result = await timesOut(session.cwd, (reached, timeoutMs) =>
        session.run(`${printing}; ${reached}; ${command}; echo no`, { timeoutMs }),
      );
      assert.deepEqual([result.outcome, result.stdout, result.stderr], ['timed_out', 'partial\n', 'err\n']);
      assert.ok(result.durationMs >= 190, `${result.durationMs} ms`);
      await session.expect('echo "$x"', { stdout: 'changed\n', cwd: `${session.cwd}/d` });
      assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
    });
  }

  for (const [name, command] of [
    ['set -e; sleep 300', (reached: string) => `set -e; sh -c "${reached}; sleep 300"`],
    ['exec sleep 300', (reached: string) => `exec sh -c "${reached}; exec sleep 300"`],
  ] as const) {
    it(`restores everything when "${name}" times out and takes the shell with it`, async () => {
      const { session } = suite;
      await session.run('x=kept; export y=too; f() { echo "$x $y"; }');
      const snapshot = join(suite.opened.runtimeDir, 'sessions', session.id, 'snapshot');
      await until('its state is saved', () => existsSync(snapshot));
      for (let time = 0; time < 3; time++) {
        const { pid } = session.info();
        const { outcome } = await timesOut(session.cwd, (reached, timeoutMs) =>
          session.run(command(reached), { timeoutMs }),
        );
        assert.equal(outcome, 'timed_out');
        assert.notEqual(session.info().pid, pid, 'another shell took its place');
        await session.run('set +e');
        await session.expect('f', { stdout: 'kept too\n' });
      }
    });
  }

  if (suite.shell === 'bash') {
    it('reports an interrupt where another signal stood in for it', async () => {
      const { session } = suite;
      const { outcome, exitCode, signal } = await timesOut(session.cwd, (reached, timeoutMs) =>
        session.run(`sleep 300 & ${reached}; wait`, { timeoutMs }),
      );
      assert.deepEqual([outcome, exitCode, signal], ['timed_out', 130, 'SIGINT']);
      await session.expect('echo $?', { stdout: '130\n' });
    });
  }

  it('kills what timed out', async () => {
    const { session } = suite;
    const { stdout, outcome } = await timesOut(session.cwd, (reached, timeoutMs) =>
      session.run(`sh -c "echo \\$\\$; ${reached}; exec sleep 300"`, { timeoutMs }),
    );
    assert.equal(outcome, 'timed_out');
    assert.match(stdout, /^\d+\n$/);
    assert.ok(!isAlive(Number(stdout)));
  });

  it('uses the default of the session, and the time of the call before it', async () => {
    const session = await suite.opened.session(suite.shell, { defaultTimeoutMs: 150 });
    assert.equal((await session.run('sleep 300')).outcome, 'timed_out');
    await session.expect('sleep 0.3', {}, { timeoutMs: 20_000 });
    const patient = await suite.opened.session(suite.shell, { defaultTimeoutMs: 20_000 });
    assert.equal((await patient.run('sleep 300', { timeoutMs: 100 })).outcome, 'timed_out');
  });

  it('does not end a command early for the longest time that can be asked for', async () => {
    await suite.session.expect('sleep 0.05; echo a', { stdout: 'a\n' }, { timeoutMs: 2 ** 31 - 1 });
  });

  it('answers either way when a command ends just as its time does, and goes on', async () => {
    const { session } = suite;
    await session.run('x=kept');
    for (let time = 0; time < 30; time++) {
      const { outcome, stdout } = await session.run('echo a; sleep 0.02', { timeoutMs: 17 + (time % 10) });
      assert.ok(['exited', 'timed_out'].includes(outcome), outcome);
      assert.ok(stdout === 'a\n' || (stdout === '' && outcome === 'timed_out'), JSON.stringify(stdout));
      await session.expect('echo "$x"', { stdout: 'kept\n' });
    }
    assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
  });

  it('goes on when a command is reported while the shell is held for a program that handles interrupts', async () => {
    const { session } = suite;
    const program = 'process.on("SIGINT", () => {}); console.log(process.pid); setInterval(() => {}, 1000)';
    const running = await session.start(`'${process.execPath}' -e '${program}'`);
    await running.wait([{ output: '\\d\\n' }]);
    const pid = Number(await running.stdout());
    const control = join(suite.opened.runtimeDir, 'sessions', session.id, 'ctl');
    const number = running.id.split(':')[1];
    let looks = 0;
    holdAt((point) => {
      if (point !== 'interrupt-held' || ++looks !== 4) return;
      // Between this look and the next, in which it would be seen that the shell needs to be held no longer.
      setImmediate(() => {
        process.kill(pid, 'SIGKILL');
        while (isAlive(pid));
        writeFileSync(control, `\x01=D\0${number}\0${'130'}\0${session.cwd}\0`);
      });
    });
    try {
      assert.equal((await running.cancel()).outcome, 'cancelled');
    } finally {
      holdAt(undefined);
    }
    assert.ok(looks >= 4, 'the shell was held so long');
    await session.expect('echo on', { stdout: 'on\n' }, { timeoutMs: 10_000 });
  });

  it('times out a command in the background with its whole tree', async () => {
    const { session } = suite;
    const { outcome, stdout } = await timesOut(session.cwd, async (reached, timeoutMs) => {
      const line = `sleep 300 & echo $!; ${reached}; sleep 300`;
      return (await session.start(line, { background: true, timeoutMs })).wait();
    });
    assert.equal(outcome, 'timed_out');
    assert.match(stdout ?? '', /^\d+\n$/);
    await until('the child is gone', () => !isAlive(Number(stdout)));
    await session.expect('echo next', { stdout: 'next\n' });
  });

  it('runs what is queued behind a command that times out', async () => {
    const { session } = suite;
    const [first, second] = await Promise.all([
      session.run('sleep 300', { timeoutMs: 100 }),
      session.run('echo second'),
    ]);
    assert.deepEqual([first.outcome, second.stdout], ['timed_out', 'second\n']);
  });
});
