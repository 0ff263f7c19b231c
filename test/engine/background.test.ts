import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { bytesOf, fails, forEachShell, isOutput, OpenedEngine, shells, until } from '../helpers/engine';
import { fixture } from '../helpers/fixtures';
import { parsePrefixLog } from '../helpers/prefix-log';
import { isAlive, statusOf } from '../helpers/processes';

const background = true;

forEachShell('Background commands', (suite) => {
  it('leaves no part of itself running when it is stopped', async () => {
    const stopped = await suite.session.start('echo up; sleep 300 | cat', { background });
    await stopped.wait([{ output: 'up' }]);
    await stopped.cancel();
    await until('its subshell is gone', () => stopped.pid !== undefined && !isAlive(stopped.pid));
  });

  it('inherit the state of the session', async () => {
    const { session } = suite;
    await session.run("x=mine; export e=shared; list=(a 'b c'); f() { echo \"f $x\"; }; cd /; alias hi='echo hi'");
    const command = await session.start(`f; hi; echo $e; printf "[%s]" "\${list[@]}"; pwd`, { background });
    const { outcome, exitCode, stdout, stderr } = await command.wait();
    assert.deepEqual([outcome, exitCode, stdout, stderr], ['exited', 0, 'f mine\nhi\nshared\n[a][b c]/\n', '']);
  });

  it('see the exit code of the command before them, and leave it to the next', async () => {
    const { session } = suite;
    await session.run("set -e; trap 'echo failed' ERR; (exit 7) || :; set +e; (exit 7)");
    for (const overrides of [{}, { cwd: '/' }]) {
      const { stdout, exitCode } = await (await session.start('echo $?', { background, ...overrides })).wait();
      assert.deepEqual([stdout, exitCode], ['7\n', 0]);
    }
    await session.expect('echo $?', { stdout: '7\n' });
  });

  it('leave the state of the session alone', async () => {
    const { session } = suite;
    await session.run('x=mine');
    const command = await session.start('x=other; cd /; set -u; umask 077; exit 5', { background });
    const { outcome, exitCode } = await command.wait();
    assert.deepEqual([outcome, exitCode], ['exited', 5]);
    await session.expect('echo "$x$nope"', { stdout: 'mine\n' });
    assert.equal(session.info().restarts, 0);
  });

  it('leave the session free at once, and are listed', async () => {
    const { session, opened } = suite;
    const command = await session.start('sleep 300', { background });
    await session.expect('echo free', { stdout: 'free\n' });
    const listed = opened.engine.listCommands({ sessionId: session.id, runningOnly: true }).commands;
    assert.deepEqual(
      listed.map(({ commandId, state, background, command }) => ({ commandId, state, background, command })),
      [{ commandId: command.id, state: 'running', background: true, command: 'sleep 300' }],
    );
    assert.deepEqual([session.info().backgroundCount, session.info().state], [1, 'idle']);
    await command.cancel();
    await until('none is left', () => session.info().backgroundCount === 0);
    assert.deepEqual(opened.engine.listCommands({ sessionId: session.id, runningOnly: true }).commands, []);
  });

  it('stream while they run', async () => {
    const { session, opened } = suite;
    const command = await session.start('echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo err >&2', {
      background,
    });
    const seen: string[] = [];
    const { stdout, stderr } = await opened.engine.follow({ commandId: command.id }, async (event) => {
      if (isOutput(event)) seen.push(event.data);
      await writeFile(join(session.cwd, 'go'), '');
    });
    assert.deepEqual([stdout, stderr], ['one\ntwo\n', 'err\n']);
    assert.equal(seen[0], 'one\n');
    assert.deepEqual(seen.toSorted(), ['err\n', 'one\n', 'two\n']);
  });

  it('can be followed by several readers, from the start and after the end', async () => {
    const { session, opened } = suite;
    const command = await session.start('seq 1 5000', { background });
    const follow = async () => {
      const pieces: string[] = [];
      await opened.engine.follow({ commandId: command.id, fromSeq: 0 }, (event) => {
        if (isOutput(event)) pieces.push(event.data);
      });
      return pieces.join('');
    };
    const [one, two] = await Promise.all([follow(), follow()]);
    const three = await follow();
    const expected = Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join('');
    assert.deepEqual([one === expected, two === expected, three === expected], [true, true, true]);
  });

  it('answer a wait for their end only when all their output is there', async () => {
    const { session } = suite;
    const command = await session.start('mkfifo go; { read -r line <go; echo late; } & echo now', { background });
    const ended = command.wait();
    await until('its shell has ended', () => !isAlive(command.pid ?? 0));
    await writeFile(join(session.cwd, 'go'), '\n');
    assert.equal((await ended).stdout, 'now\nlate\n');
  });

  it('keep their exit code while their last output is still to come', async () => {
    const { session } = suite;
    const command = await session.start('mkfifo go; { read -r line <go; echo late; } & exit 3', { background });
    const ended = command.wait();
    await until('its shell has ended', () => !isAlive(command.pid ?? 0));
    await writeFile(join(session.cwd, 'go'), '\n');
    const { exitCode, stdout, notes } = await ended;
    assert.deepEqual([exitCode, stdout, notes], [3, 'late\n', []]);
  });

  it('end although a job goes on, and what that prints later is still theirs', async () => {
    const { session } = suite;
    const command = await session.start('mkfifo go; { read -r line <go; echo late; } & echo now; exit 3', {
      background,
    });
    const { exitCode, stdout, heldOpenBy = [], logPath = '' } = await command.wait();
    const holders = heldOpenBy.map(({ command }) => command);
    assert.deepEqual([exitCode, stdout, holders], [3, 'now\n', [`${suite.shell} (a subshell)`]]);
    assert.ok(!existsSync(logPath.replace(/log$/, 'labelers.done')), 'more may come');
    await writeFile(join(session.cwd, 'go'), '\n');
    await until('its output is final', () => existsSync(logPath.replace(/log$/, 'labelers.done')));
    assert.equal(parsePrefixLog(await readFile(logPath)).stdout.toString(), 'now\nlate\n');
    assert.equal(await command.stdout(), 'now\nlate\n');
  });

  it('are killed with their whole tree', async () => {
    const { session } = suite;
    const command = await session.start(
      `sleep 300 & echo $!; (sh -c 'echo $$; exec sleep 300') & ${fixture('ignores-signals.sh')} & echo $!; wait`,
      { background },
    );
    await command.wait([{ output: 'ready' }]);
    await until('all have told their pid', async () => (await command.stdout()).match(/\d+/g)?.length === 3);
    const pids = (await command.stdout()).match(/\d+/g)?.map(Number) ?? [];
    assert.equal((await command.cancel()).outcome, 'cancelled');
    await until('all are gone', () => !pids.some(isAlive));
  });

  it('report the signal that ended them', async () => {
    const command = await suite.session.start("sh -c 'kill -KILL $PPID'; true", { background });
    const { outcome, signal } = await command.wait();
    assert.deepEqual([outcome, signal], ['signaled', 'SIGKILL']);
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('are not waited for by a bare wait', async () => {
    const command = await suite.session.start('sleep 300', { background });
    await suite.session.expect('wait; jobs', {}, { timeoutMs: 5000 });
    await command.cancel();
  });

  it('survive the cancelling of a command in the foreground', async () => {
    const { session } = suite;
    const behind = await session.start('until [ -e go ]; do sleep 0.01; done; echo end', { background });
    const front = await session.start('echo ready; sleep 300');
    await front.wait([{ output: 'ready' }]);
    await front.cancel();
    await writeFile(join(session.cwd, 'go'), '');
    const { outcome, stdout } = await behind.wait();
    assert.deepEqual([outcome, stdout], ['exited', 'end\n']);
  });

  it('survive the end of the shell', async () => {
    const { session } = suite;
    const behind = await session.start('until [ -e go ]; do sleep 0.01; done; echo end', { background });
    await session.run('exit 3');
    await session.run('kill -9 $$');
    await writeFile(join(session.cwd, 'go'), '');
    const { outcome, exitCode, stdout } = await behind.wait();
    assert.deepEqual([outcome, exitCode, stdout], ['exited', 0, 'end\n']);
  });

  it('have no input unless it is kept open', async () => {
    const command = await suite.session.start('cat; read x; echo $?', { background });
    assert.equal((await command.wait()).stdout, '1\n');
  });

  it('can be started while the session is busy', async () => {
    const { session } = suite;
    const front = await session.start('echo ready; until [ -e go ]; do sleep 0.01; done');
    await front.wait([{ output: 'ready' }]);
    const starting = session.start('echo behind', { background });
    await writeFile(join(session.cwd, 'go'), '');
    assert.equal((await (await starting).wait()).stdout, 'behind\n');
  });

  it('do not mix, twenty at once', async () => {
    const { session } = suite;
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const commands = await Promise.all(
      numbers.map((n) =>
        session.start(`for i in 1 2 3; do echo ${n}; echo e${n} >&2; done; return ${n}`, { background }),
      ),
    );
    const results = await Promise.all(commands.map((command) => command.wait()));
    assert.deepEqual(
      results.map(({ exitCode, stdout, stderr }) => [exitCode, stdout, stderr]),
      numbers.map((n) => [n, `${n}\n`.repeat(3), `e${n}\n`.repeat(3)]),
    );
  });

  it('lose nothing of large output', async () => {
    const command = await suite.session.start('head -c 50000000 /dev/zero; head -c 3000000 /dev/zero >&2', {
      background,
    });
    const { stdoutBytes, stderrBytes, exitCode } = await command.wait();
    assert.deepEqual([stdoutBytes, stderrBytes, exitCode], [50_000_000, 3_000_000, 0]);
  });

  it('answer a syntax error as in the foreground', async () => {
    const command = await suite.session.start('echo "', { background });
    const { outcome, exitCode, stderr } = await command.wait();
    assert.equal(outcome, 'exited');
    assert.notEqual(exitCode, 0);
    assert.notEqual(stderr, '');
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('are what is signalled by the pid they were started with, and tell of that', async () => {
    const { session } = suite;
    for (const signal of ['SIGTERM', 'SIGUSR1', 'SIGKILL'] as const) {
      const command = await session.start('echo ready; while :; do :; done', { background });
      await command.wait([{ output: 'ready' }]);
      assert.ok(command.pid !== undefined);
      process.kill(command.pid, signal);
      const { outcome, signal: told, exitCode } = await command.wait();
      assert.deepEqual([outcome, told, exitCode], ['signaled', signal, 128 + constants.signals[signal]]);
    }
  });

  it('are reported by what outlives a signal to every shell there is', async () => {
    const { session } = suite;
    const command = await session.start('echo waits; until [ -e gate ]; do sleep 0.01; done; exit 7', { background });
    await command.wait([{ output: 'waits' }]);
    const parent = statusOf(command.pid ?? 0)?.parent ?? 0;
    for (const signal of ['SIGHUP', 'SIGTERM', 'SIGUSR1'] as const) process.kill(parent, signal);
    await session.run(': > gate');
    const { outcome, exitCode } = await command.wait();
    assert.deepEqual([outcome, exitCode], ['exited', 7]);
  });

  it('stream bytes unchanged', async () => {
    const { opened, session } = suite;
    const command = await session.start("printf '\\377\\000\\001\\001\\001'", { background });
    const pieces: Array<{ data: string; encoding?: 'utf8' | 'base64' | undefined }> = [];
    await opened.engine.follow({ commandId: command.id }, (event) => {
      if (isOutput(event)) pieces.push(event);
    });
    assert.deepEqual([...bytesOf(pieces)], [255, 0, 1, 1, 1]);
  });
});

describe('The number of background commands', () => {
  for (const shell of shells) {
    it(`is bounded, and reaching the bound is an answer, in ${shell}`, async () => {
      const opened = await OpenedEngine.open({ limits: { maxBackgroundCommands: 2 } });
      try {
        const session = await opened.session(shell);
        const first = await session.start('sleep 300', { background });
        await session.start('sleep 300', { background });
        await fails(() => session.start('sleep 300', { background }), 'overloaded');
        await first.cancel();
        const command = await session.start('echo room', { background });
        assert.equal((await command.wait()).stdout, 'room\n');
      } finally {
        await opened.dispose();
      }
    });

    it(`is bounded also while they wait for their turn, in ${shell}`, async () => {
      const opened = await OpenedEngine.open({ limits: { maxBackgroundCommands: 2 } });
      try {
        const session = await opened.session(shell);
        const before = await session.start('sleep 300');
        const first = await session.start('sleep 300', { background });
        await session.start('sleep 300', { background });
        await fails(() => session.start('sleep 300', { background }), 'overloaded');
        await first.cancel();
        await session.start('sleep 300', { background });
        await before.cancel();
        await until('both run', () => session.info().backgroundCount === 2);
      } finally {
        await opened.dispose();
      }
    });
  }
});
