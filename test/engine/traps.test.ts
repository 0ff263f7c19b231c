import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { forEachShell, until } from '../helpers/engine';
import { isAlive, statusOf } from '../helpers/processes';

const ended = { outcome: 'shell_exited', exitCode: 3, notes: 'some' } as const;

forEachShell('A trap on EXIT', (suite) => {
  it('leaves no stream open where what reports was given to a function', async () => {
    const { session } = suite;
    await session.run('printf() { :; }; builtin() { :; }');
    for (const trap of ["trap 'echo bye' EXIT", "trap 'echo debug' DEBUG; trap 'echo bye' EXIT"]) {
      const { exitCode, heldOpenBy, logPath, stderr } = await session.run(trap);
      assert.deepEqual([exitCode, heldOpenBy, stderr], [0, undefined, '']);
      await until('its output is final', () => existsSync(logPath.replace(/log$/, 'labelers.done')));
    }
    await session.run('trap - DEBUG');
    await session.expect('echo next', { stdout: 'next\n' });
  });

  for (const [how, text] of [
    ['exit', 'exit 3'],
    ['set -e', '(exit 3)'],
  ] as const) {
    it(`runs when ${how} ends a strict shell, and what it prints is the command’s`, async () => {
      const { session } = suite;
      await session.run("x=kept; set -euo pipefail; trap 'echo out $?; echo err >&2' EXIT");
      const result = await session.run(text);
      assert.deepEqual(
        [result.outcome, result.exitCode, result.stdout, result.stderr],
        ['shell_exited', 3, 'out 3\n', 'err\n'],
      );
      await session.expect('echo $x', { stdout: 'kept\n' });
    });
  }

  it('prints to the command also where both are in one text', async () => {
    const { session } = suite;
    const { outcome, exitCode, stdout } = await session.run("set -e; trap 'echo bye' EXIT; (exit 3); echo no");
    assert.deepEqual([outcome, exitCode, stdout], ['shell_exited', 3, 'bye\n']);
    await session.expect('echo on', { stdout: 'on\n' });
    await session.run("trap 'echo later' EXIT");
    await session.expect('echo on', { stdout: 'on\n' });
  });

  it('is told the exit code and leaves the options as they were, whatever words are split at', async () => {
    const { session } = suite;
    await session.run(`set -a; IFS=${suite.shell === 'bash' ? 'hia3' : '3'}; trap 'echo "$?"' EXIT`);
    const { exitCode, stdout } = await session.run('exit 3');
    assert.deepEqual([exitCode, stdout], [3, '3\n']);
    await session.expect('case "$-" in *a*) echo on;; esac', { stdout: 'on\n' });
  });

  it('prints into no later command where the shell ends while it is idle', async () => {
    const { session } = suite;
    await session.run("trap 'echo late' EXIT");
    const { pid } = session.info();
    assert.ok(pid !== null);
    process.kill(pid, 'SIGHUP');
    await until('the shell has ended', () => !isAlive(pid));
    await session.expect('echo on', { stdout: 'on\n', notes: 'some' });
  });
});

forEachShell('A trap on ERR', (suite) => {
  const count = async (expected: string) =>
    assert.equal(await suite.session.text('wc -l < log 2>/dev/null | tr -d " "'), `${expected}\n`);

  it('keeps a strict shell going', async () => {
    const { session } = suite;
    await session.expect("set -euo pipefail; trap 'echo failed' ERR");
    await session.expect('echo a', { stdout: 'a\n' });
    await session.expect('echo b', { stdout: 'b\n' });
    const { outcome, exitCode, stdout } = await session.run('(exit 3); echo no');
    assert.deepEqual([outcome, exitCode, stdout], ['shell_exited', 3, 'failed\n']);
    await session.expect('echo on', { stdout: 'on\n' });
  });

  for (const [how, text] of [
    ['in one line', "trap 'echo E >> log' ERR"],
    ['over several lines', "trap '\necho E >> log\n' ERR"],
    ['by another name', "name=ERR; trap 'echo E >> log' $name"],
    ['in a file', 'echo \'trap "echo E >> log" ERR\' > file; . ./file'],
  ] as const) {
    it(`that is set ${how} runs once for each failure`, async () => {
      const { session } = suite;
      await session.run(text);
      await session.run('false');
      await count('1');
      await session.run('true');
      await session.run('false');
      await count('2');
      await session.run('trap - ERR');
      await session.run('false');
      await count('2');
    });
  }

  it('does not run for an exit, and is not there after it', async () => {
    const { session } = suite;
    await session.run("trap 'echo E >> log' ERR");
    await session.expect('exit 3', ended);
    await session.run('false');
    assert.equal(existsSync(join(session.cwd, 'log')), false);
  });

  it('shows nothing of the wrapper in a trace, also when it is gone', async () => {
    const { session, shell } = suite;
    const traced = shell === 'bash' ? /^\++ echo a\n$/ : /^\+\S+> echo a\n$/;
    await session.run("trap 'echo E' ERR");
    await session.run('set -x');
    assert.match((await session.run('echo a')).stderr, traced);
    await session.run('trap - ERR');
    assert.match((await session.run('echo a')).stderr, traced);
  });
});

forEachShell('A trap on DEBUG', (suite) => {
  for (const text of ["trap 'echo touch made' DEBUG", "set -T; trap 'echo touch made' DEBUG"]) {
    it(`is no part of what is saved and restored, after ${text}`, async () => {
      const { session } = suite;
      await session.run(text);
      await session.run("v=1; g() { echo g; }; set -- a b; trap 'echo bye >&2' EXIT");
      const { outcome, exitCode } = await session.run('exit 3');
      assert.deepEqual([outcome, exitCode], ['shell_exited', 3]);
      await session.expect('echo $v $1; g', { stdout: '1 a\ng\n' });
      await session.run('kill -9 $$');
      await session.expect('echo $v $1; g', { stdout: '1 a\ng\n' });
      assert.equal(existsSync(join(session.cwd, 'made')), false);
    });
  }

  if (suite.shell === 'zsh') {
    it('may be a function, which is there after what is saved', async () => {
      const { session } = suite;
      await session.run('TRAPDEBUG() { echo touch made; }; v=1');
      await session.expect(': kill', { stdout: 'touch made\n' });
      await session.run('kill -9 $$');
      await session.expect('echo $v', { stdout: '1\n' });
      assert.equal(existsSync(join(session.cwd, 'made')), false);
    });
  }

  it('leaves the traps on EXIT and ERR as the user set them', async () => {
    const { session, shell } = suite;
    await session.run(`${shell === 'bash' ? 'set -T; ' : ''}trap 'echo D' DEBUG`);
    await session.run("trap 'echo bye' EXIT; trap 'echo failed' ERR");
    await session.run('trap - DEBUG');
    assert.deepEqual((await session.text('trap')).match(/echo \w+/g), ['echo bye', 'echo failed']);
    const { stdout } = await session.run('exit 3');
    assert.equal(stdout, 'bye\n');
  });
});

forEachShell('An interrupt that nobody sent for a command', (suite) => {
  it('does not keep an idle shell from running the next one', async () => {
    const { session } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    for (let n = 0; n < 5; n++) {
      process.kill(pid, 'SIGINT');
      await session.expect(`echo ${n}`, { stdout: `${n}\n` });
    }
    assert.equal(session.info().pid, pid);
  });

  it('does not keep it from saving its state', async () => {
    const { session, opened } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    await session.run('x=remarkable');
    process.kill(pid, 'SIGSTOP');
    await until('the shell is stopped', () => statusOf(pid)?.state === 'T');
    // It has the interrupt before the line that asks for a snapshot, which the word in the next command makes it take.
    process.kill(pid, 'SIGINT');
    const running = session.run(
      `: kill; grep -c "x=.*remarkable" '${join(opened.runtimeDir, 'sessions', session.id, 'snapshot')}'`,
    );
    process.kill(pid, 'SIGCONT');
    assert.equal((await running).stdout, '1\n');
  });

  it('that comes as a signal of ours does no harm to an idle shell', async () => {
    const { session } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    for (let n = 0; n < 5; n++) {
      if (suite.shell === 'bash') process.kill(pid, 'SIGVTALRM');
      await session.expect(`echo ${n}`, { stdout: `${n}\n` });
    }
    assert.equal(session.info().pid, pid);
  });
});

forEachShell('What is the wrapper’s', (suite) => {
  it('is in the environment of no program under set -a, nor after a recovery', async () => {
    const { session } = suite;
    await session.run('set -a; X=mine');
    const environment = async () =>
      (await session.text('env')).split('\n').filter((line) => /^(X=|__lmp|BASH_FUNC)/.test(line));
    assert.deepEqual(await environment(), ['X=mine']);
    await session.expect('exit 3', ended);
    await session.run('true');
    assert.deepEqual(await environment(), ['X=mine']);
    await session.expect('case $- in *a*) echo on;; esac', { stdout: 'on\n' });
  });

  it('can be made read-only by the user, and the session is restored all the same', async () => {
    const { session } = suite;
    await session.run('readonly LIMPET_COMMAND_ID; x=kept');
    await session.expect('exit 3', ended);
    await session.expect('echo $x', { stdout: 'kept\n' });
  });
});

forEachShell('A shell that begins with set -e', (suite) => {
  it('is restored whole', async () => {
    const { opened, shell } = suite;
    const session = await opened.session(shell, { env: { SHELLOPTS: 'errexit' } });
    await session.run(`${shell === 'bash' ? '' : 'set -e; '}x=kept; f() { echo f; }`);
    await session.expect('exit 3', ended);
    await session.expect('echo $x; f; case $- in *e*) echo strict;; esac', { stdout: 'kept\nf\nstrict\n' });
  });
});
