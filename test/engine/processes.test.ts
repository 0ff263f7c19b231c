import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { LimpetError } from '../../protocol/errors';
import { fails, forEachShell, type OpenedSession, until } from '../helpers/engine';
import { fixture } from '../helpers/fixtures';
import { isAlive, processesMarked } from '../helpers/processes';

const pidIn = async (session: OpenedSession, file: string): Promise<number> => {
  const path = join(session.cwd, file);
  await until(`${file} has a pid`, async () => existsSync(path) && (await readFile(path, 'utf8')).trim() !== '');
  return Number(await readFile(path, 'utf8'));
};

/** All that end a process. */
const deadly = (
  [
    ...['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGKILL', 'SIGUSR1'],
    ...['SIGSEGV', 'SIGUSR2', 'SIGPIPE', 'SIGALRM', 'SIGTERM', 'SIGXCPU', 'SIGXFSZ', 'SIGVTALRM', 'SIGPROF'],
    ...['SIGIO', 'SIGSYS', ...(process.platform === 'linux' ? ['SIGSTKFLT', 'SIGPWR'] : [])],
  ] as NodeJS.Signals[]
).map((signal) => [signal, constants.signals[signal]] as const);

/** Commands that run until they are stopped; each says "ready" first. */
const endless: Array<[string, string]> = [
  ['an external command', 'echo ready; sleep 300'],
  ['a loop of the shell itself', 'echo ready; while :; do :; done'],
  ['a loop in a function', 'f() { while true; do :; done; }; echo ready; f'],
  ['a loop of external commands', 'echo ready; while true; do sleep 0.01; done'],
  ['a pipeline', 'echo ready; yes | cat | cat >/dev/null'],
  ['a pipeline into a loop', 'echo ready; yes | while read -r line; do :; done'],
  ['a command substitution', 'echo ready; y=$(sleep 300)'],
  ['a subshell', '(echo ready; sleep 300; echo no)'],
  ['a command that ignores INT and TERM', fixture('ignores-signals.sh')],
  ['a shell inside', "sh -c 'echo ready; sleep 300; echo no'"],
  ['a wait', 'sleep 300 & echo ready; wait'],
  ['an eval', "echo ready; eval 'sleep 300'"],
];

forEachShell('Processes', (suite) => {
  it('reports every exit code exactly', async () => {
    const seen: Array<number | null> = [];
    for (let code = 0; code < 256; code++) seen.push((await suite.session.run(`sh -c 'exit ${code}'`)).exitCode);
    assert.deepEqual(
      seen,
      Array.from({ length: 256 }, (_, code) => code),
    );
  });

  for (const background of [false, true]) {
    it(`reports a command that a signal ended, whichever, in the ${background ? 'background' : 'foreground'}`, async () => {
      const { session } = suite;
      await session.run('ulimit -c 0');
      // What a shell starts in the background ignores what the keyboard sends.
      const heeded = deadly.filter(([signal]) => !(background && ['SIGINT', 'SIGQUIT'].includes(signal)));
      for (const [signal, number] of heeded) {
        const command = await session.start(`echo before; sh -c 'kill -${number} $$'`, { background });
        const { outcome, signal: reported, exitCode, stdout } = await command.wait();
        assert.deepEqual([outcome, reported, exitCode, stdout], ['signaled', signal, 128 + number, 'before\n']);
      }
      await session.expect('echo next', { stdout: 'next\n' });
    });
  }

  it('reports a command that does not exist', async () => {
    await suite.session.expect('no-such-command', { exitCode: 127, stderr: /no-such-command/ });
  });

  it('returns at once when a job stays behind, and names it', async () => {
    const { session } = suite;
    // Until it is its program it has no name of its own.
    const result = await session.run('sleep 300 & until grep -q ^sleep /proc/$!/cmdline; do sleep 0.01; done; echo $!');
    const pid = Number(result.stdout);
    assert.ok(isAlive(pid));
    assert.deepEqual(result.heldOpenBy, [{ pid, command: 'sleep 300' }]);
    await session.expect('echo next', { stdout: 'next\n' });
    assert.ok(isAlive(pid));
  });

  it('names a subshell that stays behind', async () => {
    const { session, shell } = suite;
    const result = await session.run('( while :; do read -t 1; done ) </dev/zero & echo $!');
    assert.deepEqual(result.heldOpenBy, [{ pid: Number(result.stdout), command: `${shell} (a subshell)` }]);
  });

  it('names no holder when the job holds nothing', async () => {
    await suite.session.expect('sleep 300 >/dev/null 2>&1 &');
  });

  it('gives late output of a job to the command that started it', async () => {
    const { session } = suite;
    const first = await session.start('{ until [ -e go ]; do sleep 0.01; done; echo late; echo late >&2; } & echo now');
    assert.equal((await first.wait([{ output: 'now' }])).met, 'output');
    await session.expect('echo second', { stdout: 'second\n' });
    await writeFile(join(session.cwd, 'go'), '');
    await until('the late output is there', async () => (await first.stdout()) === 'now\nlate\n');
    await session.expect('echo third', { stdout: 'third\n' });
    await until('the late bytes are counted', () => {
      const mine = suite.opened.engine
        .listCommands({ sessionId: session.id })
        .commands.find((c) => c.commandId === first.id);
      return mine?.stdoutBytes === 9 && mine.stderrBytes === 5;
    });
  });

  for (const [name, command] of endless) {
    it(`cancels ${name} and keeps the shell`, async () => {
      const { session } = suite;
      await session.run('x=kept');
      const running = await session.start(`${command}; echo no`);
      await running.wait([{ output: 'ready' }]);
      assert.deepEqual(await running.cancel(), { outcome: 'cancelled', commandId: running.id });
      assert.deepEqual(processesMarked(`LIMPET_COMMAND_ID=${running.id}\0`), []);
      const { met, outcome, stdout, stderr, logPath = '' } = await running.wait();
      assert.deepEqual([met, outcome, stdout, stderr], ['exit', 'cancelled', 'ready\n', '']);
      await until('nobody can print for it', () => existsSync(logPath.replace(/log$/, 'labelers.done')));
      await session.expect('echo "$x"', { stdout: 'kept\n' });
      assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
    });
  }

  it('keeps what a cancelled command had already changed', async () => {
    const { session } = suite;
    const running = await session.start('y=5; cd /; echo ready; sleep 300; y=6');
    await running.wait([{ output: 'ready' }]);
    await running.cancel();
    await session.expect('echo $y', { stdout: '5\n', cwd: '/' });
  });

  it('leaves the jobs of earlier commands alone when it cancels', async () => {
    const { session } = suite;
    await session.run(`${fixture('dies-of-interrupt.js', 'server.pid')} >/dev/null 2>&1 &`);
    const pid = await pidIn(session, 'server.pid');
    for (const [, command] of [endless[0], endless[1], endless[8]].flatMap((entry) => (entry ? [entry] : []))) {
      const running = await session.start(command);
      await running.wait([{ output: 'ready' }]);
      await running.cancel();
      assert.ok(isAlive(pid));
    }
  });

  it('takes the whole tree of the command, also what left it', async () => {
    const { session } = suite;
    const running = await session.start(
      `${fixture('double-fork.js', 'daemon.pid')}; sleep 300 & echo $! > job.pid; echo ready; sleep 300`,
    );
    await running.wait([{ output: 'ready' }]);
    const pids = [await pidIn(session, 'daemon.pid'), await pidIn(session, 'job.pid')];
    assert.deepEqual(pids.map(isAlive), [true, true]);
    await running.cancel();
    await until('all are gone', () => !pids.some(isAlive));
  });

  it('sends the signal asked for', async () => {
    const { session } = suite;
    const running = await session.start(
      'sh -c \'trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.02; done\'',
    );
    await running.wait([{ output: 'ready' }]);
    assert.equal((await running.cancel('SIGTERM')).outcome, 'cancelled');
    assert.equal((await running.wait()).stdout, 'ready\ngot it\n');
  });

  it('cancels a queued command before it starts, and runs nothing of it', async () => {
    const { session } = suite;
    const first = await session.start('echo ready; until [ -e go ]; do sleep 0.01; done');
    await first.wait([{ output: 'ready' }]);
    const second = await session.start('touch ran');
    assert.equal((await second.cancel()).outcome, 'cancelled');
    const { outcome, exitCode, stdout } = await second.wait();
    assert.deepEqual([outcome, exitCode, stdout], ['cancelled', null, '']);
    await writeFile(join(session.cwd, 'go'), '');
    assert.equal((await first.wait()).outcome, 'exited');
    await session.expect('ls', { stdout: 'go\n' });
  });

  it('cancels right after the start', async () => {
    const { session } = suite;
    for (let time = 0; time < 20; time++) {
      const running = await session.start('sleep 300');
      assert.equal((await running.cancel()).outcome, 'cancelled');
      await session.expect('echo next', { stdout: 'next\n' });
    }
    assert.equal(session.info().pid, session.created.pid);
  });

  it('answers a cancel that races with the end, and goes on', async () => {
    const { session } = suite;
    await session.run('x=kept');
    for (let time = 0; time < 60; time++) {
      const command = await session.start(time % 2 === 0 ? 'true' : `sleep 0.00${time % 10}`);
      const outcome = await command.cancel().then(
        (answer) => answer.outcome,
        (thrown) => thrown.code,
      );
      assert.ok(['cancelled', 'exited', 'command_finished'].includes(outcome), outcome);
      await session.expect('echo "$x"', { stdout: 'kept\n' });
    }
    assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
  });

  it('refuses to cancel what has finished or never was', async () => {
    const { session, opened } = suite;
    const { commandId } = await session.run('true');
    await fails(() => opened.engine.cancel({ commandId }), 'command_finished');
    await fails(() => opened.engine.cancel({ commandId: `${session.id}:none` }), 'command_not_found');
    await fails(() => opened.engine.cancel({ sessionId: 's-00000000' }), 'session_not_found');
    await assert.rejects(() => opened.engine.cancel({ sessionId: session.id }), LimpetError);
  });

  it('cancels once however often it is asked', async () => {
    const running = await suite.session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const answers = await Promise.allSettled([running.cancel(), running.cancel(), running.cancel()]);
    for (const answer of answers) {
      if (answer.status === 'fulfilled') assert.equal(answer.value.outcome, 'cancelled');
      else assert.equal(answer.reason.code, 'command_finished');
    }
    assert.equal(answers[0].status, 'fulfilled');
    await fails(() => running.cancel(), 'command_finished');
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('cancels what a session runs, by the session', async () => {
    const { session, opened } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    assert.deepEqual(await opened.engine.cancel({ sessionId: session.id }), {
      outcome: 'cancelled',
      commandId: running.id,
    });
  });

  it('keeps the order of twenty commands sent at once', async () => {
    const { session } = suite;
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map((n) => session.run(`echo ${n} >> order; echo out ${n}; echo err ${n} >&2`)),
    );
    for (const [n, result] of results.entries()) {
      session.assertResult(result, result.command, { stdout: `out ${n}\n`, stderr: `err ${n}\n` });
    }
    await session.expect('cat order', { stdout: numbers.map((n) => `${n}\n`).join('') });
  });

  it('keeps a hundred sessions apart', async () => {
    const sessions = await Promise.all(Array.from({ length: 100 }, () => suite.opened.session(suite.shell)));
    await Promise.all(sessions.map((session, n) => session.run(`mine=${n}; mkdir d; cd d`)));
    const results = await Promise.all(sessions.map((session) => session.run('echo $mine; pwd')));
    assert.deepEqual(
      results.map(({ stdout, cwd }) => [stdout, cwd]),
      sessions.map((session, n) => [`${n}\n${session.cwd}/d\n`, `${session.cwd}/d`]),
    );
  });

  it('rejects instead of queueing when it is asked to', async () => {
    const { session } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const { data } = await fails(() => session.run('touch ran', { onBusy: 'reject' }), 'session_busy');
    assert.deepEqual(data, { runningCommandId: running.id });
    await running.cancel();
    await session.expect('ls', {}, { onBusy: 'reject' });
  });

  it('ends a stream when its session is destroyed, and everything with it', async () => {
    const { session } = suite;
    const pids: number[] = [];
    const streaming = session.engine
      .stream({ sessionId: session.id, command: 'echo $$; yes' }, ({ event, ...rest }) => {
        if (pids.length === 0 && event === 'stdout' && 'data' in rest) pids.push(Number(rest.data.split('\n')[0]));
      })
      .then(
        ({ outcome }) => outcome,
        (thrown) => thrown.code,
      );
    await until('it streams', () => pids.length > 0);
    await session.destroy();
    assert.ok(['cancelled', 'signaled', 'shell_exited', 'session_terminated'].includes(await streaming));
    assert.deepEqual(pids.map(isAlive), [false]);
  });

  it('takes directory and environment for one command only', async () => {
    const { session, opened, shell } = suite;
    const elsewhere = await opened.directory();
    const inner = await opened.session(shell, { env: { LAYER: 'session', BASE: 'session' } });
    const show = 'echo $LAYER $BASE $ONLY; sh -c \'echo "$LAYER $BASE $ONLY"\'; pwd';
    const extras = { cwd: elsewhere, env: { LAYER: 'command', ONLY: 'command' } };
    const { stdout } = await inner.run(show, extras);
    assert.equal(stdout, `command session command\ncommand session command\n${elsewhere}\n`);
    await inner.expect(show, { stdout: `session session\nsession session \n${inner.cwd}\n` });
    await session.expect(`echo "\${LAYER-unset}"`, { stdout: 'unset\n' });
  });

  it('keeps what a command with an environment of its own changes', async () => {
    const { session } = suite;
    await session.expect('cd "$where"; copy=$where', { cwd: '/' }, { env: { where: '/' } });
    await session.expect(`echo "$copy \${where-unset}"`, { stdout: '/ unset\n', cwd: '/' });
  });

  it('leaves directory and environment alone also when the command is cancelled, fails or ends the shell', async () => {
    const { session, opened } = suite;
    await session.run('export ONLY=session');
    const elsewhere = await opened.directory();
    const extras = { cwd: elsewhere, env: { ONLY: 'command' } };
    const after = () => session.expect('echo $ONLY', { stdout: 'session\n' });
    await session.run('if', extras);
    await after();
    await session.run('sleep 300', { ...extras, timeoutMs: 50 });
    await after();
    await session.run('exit 3', extras);
    await after();
  });
});
