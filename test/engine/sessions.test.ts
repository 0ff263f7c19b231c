import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Limits } from '../../protocol/limits';
import type { ChangeEvent, SessionState } from '../../protocol/values';
import { bytesOf, fails, forEachShell, OpenedEngine, shells, until } from '../helpers/engine';
import { isAlive } from '../helpers/processes';

/** What may follow what in the life of a session. */
const allowed = new Set(['creating>idle', 'idle>running', 'running>idle', 'idle>terminated', 'running>terminated']);

forEachShell('Sessions', (suite) => {
  it('are described completely', async () => {
    const { opened, shell } = suite;
    const cwd = await opened.directory();
    const before = Date.now();
    const info = await opened.engine.createSession({ shell, cwd, name: 'mine', env: { SECRET: 'hunter2' } });
    const { sessionId, shellPath, pid, createdAt, lastActiveAt, envKeys, ...rest } = info;
    assert.deepEqual(rest, {
      name: 'mine',
      shell,
      state: 'idle',
      cwd,
      restarts: 0,
      queued: 0,
      backgroundCount: 0,
      notes: [],
    });
    assert.match(sessionId, /^s-[0-9a-f]{8}$/);
    assert.match(shellPath, new RegExp(`^/.*/${shell}$`));
    assert.ok(pid !== null && isAlive(pid));
    assert.ok(Date.parse(createdAt) >= before - 1 && Date.parse(lastActiveAt) >= Date.parse(createdAt));
    assert.ok(envKeys.includes('SECRET'));
    assert.doesNotMatch(JSON.stringify(info), /hunter2/);
    assert.deepEqual(opened.engine.sessionInfo(sessionId), info);
  });

  it('were not active before they were created, however fast the clock goes', async () => {
    const { opened, shell } = suite;
    const clock = Date.now;
    let ahead = 0;
    Date.now = () => clock() + ahead++;
    try {
      const { createdAt, lastActiveAt } = await opened.engine.createSession({ shell });
      assert.ok(lastActiveAt >= createdAt, `${lastActiveAt} is before ${createdAt}`);
    } finally {
      Date.now = clock;
    }
  });

  it('are listed, oldest first, until they are destroyed', async () => {
    const { opened, shell, session } = suite;
    const second = await opened.session(shell);
    const third = await opened.session(shell);
    const ids = () => opened.engine.listSessions().map(({ sessionId }) => sessionId);
    assert.deepEqual(ids(), [session.id, second.id, third.id]);
    await second.destroy();
    assert.deepEqual(ids(), [session.id, third.id]);
  });

  it('have a name that can be changed', async () => {
    const { opened, session } = suite;
    assert.notEqual(session.created.name, '');
    assert.equal(opened.engine.renameSession(session.id, 'better').name, 'better');
    assert.equal(session.info().name, 'better');
    await fails(() => opened.engine.renameSession('s-00000000', 'x'), 'session_not_found');
    await fails(() => opened.engine.renameSession(session.id, ''), 'invalid_params');
  });

  it('show what they run and what waits', async () => {
    const { session } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const queued = await session.start('true');
    const { state, runningCommand, queued: waiting } = session.info();
    assert.deepEqual(
      [state, runningCommand?.commandId, runningCommand?.command, waiting],
      ['running', running.id, 'echo ready; sleep 300', 1],
    );
    await queued.cancel();
    await running.cancel();
    await until('it is idle', () => session.info().state === 'idle');
    assert.deepEqual([session.info().runningCommand, session.info().queued], [undefined, 0]);
  });

  it('list their commands, newest last', async () => {
    const { opened, session } = suite;
    await session.run('echo one');
    await session.run('return 3');
    const running = await session.start('echo ready; sleep 300', { origin: 'test' });
    await running.wait([{ output: 'ready' }]);
    const list = (runningOnly: boolean) =>
      opened.engine
        .listCommands({ sessionId: session.id, runningOnly })
        .commands.map(({ command, state, exitCode, background }) => ({ command, state, exitCode, background }));
    const last = { command: 'echo ready; sleep 300', state: 'running', exitCode: undefined, background: false };
    assert.deepEqual(list(false), [
      { command: 'echo one', state: 'finished', exitCode: 0, background: false },
      { command: 'return 3', state: 'finished', exitCode: 3, background: false },
      last,
    ]);
    assert.deepEqual(list(true), [last]);
    assert.equal(opened.engine.listCommands({ runningOnly: true }).commands[0]?.origin, 'test');
    await running.cancel();
  });

  it('go from state to state only as allowed', async () => {
    const { opened, shell } = suite;
    const states: Array<[string, SessionState | 'gone']> = [];
    const listening = opened.engine.onChange((event: ChangeEvent) => {
      if (event.event === 'session') states.push([event.session.sessionId, event.session.state]);
      if (event.event === 'session_gone') states.push([event.sessionId, 'gone']);
    });
    const session = await opened.session(shell);
    await session.run('true');
    await session.run('exit 3');
    await session.run('sleep 300', { timeoutMs: 50 });
    await session.destroy();
    await until('the end is told', () => states.some(([, state]) => state === 'gone'));
    listening.dispose();
    const mine = states.filter(([id]) => id === session.id).map(([, state]) => state);
    const steps = mine.filter((state, index) => state !== mine[index - 1] && state !== 'gone');
    for (const [index, state] of steps.entries()) {
      const step = `${steps[index - 1]}>${state}`;
      assert.ok(index === 0 || allowed.has(step), step);
    }
    assert.equal(mine.at(-1), 'gone');
    assert.equal(steps.filter((state) => state === 'running').length, 3);
  });

  it('say when they were last active', async () => {
    const { session } = suite;
    const before = Date.parse(session.info().lastActiveAt);
    await session.run('sleep 0.01');
    assert.ok(Date.parse(session.info().lastActiveAt) > before);
  });

  it('answer nothing after they were destroyed', async () => {
    const { opened, session } = suite;
    const { commandId } = await session.run('true');
    await session.destroy();
    for (const call of [
      () => session.run('true'),
      () => session.start('true'),
      () => session.info(),
      () => session.destroy(),
      () => opened.engine.renameSession(session.id, 'x'),
      () => opened.engine.cancel({ sessionId: session.id }),
    ]) {
      await assert.rejects(
        async () => call(),
        ({ code }) => ['session_not_found', 'session_terminated'].includes(code),
      );
    }
    await assert.rejects(() => opened.engine.input({ commandId, data: 'x' }));
  });

  it('answer what was queued when they are destroyed', async () => {
    const { session } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const settled = Promise.allSettled([running.wait(), session.run('touch ran'), session.run('touch ran')]);
    await session.destroy();
    for (const answer of await settled) {
      if (answer.status === 'fulfilled') assert.equal(answer.value.outcome, 'cancelled');
      else assert.equal(answer.reason.code, 'session_terminated');
    }
  });

  it('go away by themselves after idling for the time given, and not while they work', async () => {
    const { opened, shell } = suite;
    const session = await opened.session(shell, { idleTimeoutMs: 250 });
    const gone: string[] = [];
    const listening = opened.engine.onChange((event) => {
      if (event.event === 'session_gone') gone.push(event.sessionId);
    });
    await session.expect('sleep 0.6; echo worked', { stdout: 'worked\n' });
    const pid = session.info().pid ?? 0;
    await until('it is gone', () => gone.includes(session.id));
    listening.dispose();
    assert.ok(!isAlive(pid));
    assert.ok(opened.engine.listSessions().every(({ sessionId }) => sessionId !== session.id));
  });

  it('load no rc file unless asked to', async () => {
    const { opened, shell } = suite;
    const home = await homeWith(opened, 'loaded=yes; echo noise');
    const clean = await opened.session(shell, { env: home });
    await clean.expect('echo "[$loaded]"', { stdout: '[]\n' });
    const user = await opened.session(shell, { env: home, profile: 'user' });
    await user.expect('echo "[$loaded]"', { stdout: '[yes]\n' });
    assert.deepEqual(user.info().notes, []);
  });

  it('load an rc file with everything people have in one', async () => {
    const { opened, shell } = suite;
    const home = await homeWith(
      opened,
      [
        "PS1='fancy> '",
        "PROMPT_COMMAND='echo prompt'",
        'precmd() { echo prompt; }',
        "alias ll='echo listing'",
        'set -o noclobber',
        'export FROM_RC=1',
        'mine() { echo "mine $1"; }',
        'echo welcome; echo problem >&2',
        'false',
      ].join('\n'),
    );
    const session = await opened.session(shell, { env: home, profile: 'user' });
    await session.expect('ll; mine 1; sh -c \'echo "$FROM_RC"\'', { stdout: 'listing\nmine 1\n1\n' });
    await session.expect('exit 3', { outcome: 'shell_exited', exitCode: 3, notes: 'some' });
    await session.expect('ll; mine 1', { stdout: 'listing\nmine 1\n' });
  });

  const startsClean = async (text: string) => {
    const { opened, shell } = suite;
    const home = await homeWith(opened, text);
    const begin = Date.now();
    const session = await opened.session(shell, { env: home, profile: 'user' });
    assert.ok(Date.now() - begin < 20_000, 'the start is bounded');
    assert.notDeepEqual(session.created.notes, []);
    await session.expect('echo works', { stdout: 'works\n' });
  };

  it('start clean, with a note, when the rc file ends the shell', async () => {
    for (const text of ['exit 7', 'kill -9 $$', 'exec true']) await startsClean(text);
  });

  it('start although the rc file reads input', async () => {
    const { opened, shell } = suite;
    const home = await homeWith(opened, 'cat >/dev/null; read -r answer');
    const session = await opened.session(shell, { env: home, profile: 'user' });
    await session.expect('echo works', { stdout: 'works\n' });
  });

  it('start clean, with a note, when the rc file hangs', async () => {
    const hanging = ['sleep 30', "trap '' INT TERM; while :; do :; done", 'exec sleep 30'];
    await Promise.all(hanging.map(startsClean));
  });

  it('pass the environment on in layers, the inner one wins', async () => {
    const inside = await OpenedEngine.open({
      env: { ...process.env, OUTER: 'runtime', MIDDLE: 'runtime', INNER: 'runtime' },
    });
    try {
      const session = await inside.session(suite.shell, { env: { MIDDLE: 'session', INNER: 'session' } });
      const show = 'echo "$OUTER $MIDDLE $INNER"';
      await session.expect(show, { stdout: 'runtime session command\n' }, { env: { INNER: 'command' } });
      await session.expect(show, { stdout: 'runtime session session\n' });
    } finally {
      await inside.dispose();
    }
  });

  it('can be opened by the path of the shell', async () => {
    const { opened, session, shell } = suite;
    const other = await opened.session(session.created.shellPath);
    assert.deepEqual([other.created.shell, other.created.shellPath], [shell, session.created.shellPath]);
    await other.expect('echo a', { stdout: 'a\n' });
  });
});

/** A home directory whose rc files, for either shell, hold the text. */
async function homeWith(opened: OpenedEngine, text: string): Promise<{ HOME: string; ZDOTDIR: string }> {
  const home = join(await opened.directory(), 'home');
  await mkdir(home);
  for (const file of ['.bashrc', '.zshrc']) await writeFile(join(home, file), `${text}\n`);
  return { HOME: home, ZDOTDIR: home };
}

describe('An engine', () => {
  const opened: OpenedEngine[] = [];
  const open = async (limits: Partial<Limits> = {}) => {
    const engine = await OpenedEngine.open({ limits });
    opened.push(engine);
    return engine;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((engine) => engine.dispose()));
  });

  it('opens no more sessions than its limit', async () => {
    const { engine } = await open({ maxSessions: 2 });
    assert.equal(engine.limits.maxSessions, 2);
    const first = await engine.createSession({ shell: 'bash' });
    const others = await Promise.allSettled([1, 2, 3].map(() => engine.createSession({ shell: 'bash' })));
    assert.deepEqual(others.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
    const { data } = await fails(() => engine.createSession({ shell: 'bash' }), 'session_limit');
    assert.deepEqual(data, { limit: 2 });
    await engine.destroySession(first.sessionId);
    await engine.createSession({ shell: 'bash' });
  });

  it('queues no more commands than its limit, and keeps those it has', async () => {
    const session = await (await open({ maxQueuedCommands: 2 })).session('bash');
    const running = await session.start('echo ready; until [ -e go ]; do sleep 0.01; done');
    await running.wait([{ output: 'ready' }]);
    const queued = [session.run('echo one'), session.run('echo two')];
    await fails(() => session.run('echo three'), 'overloaded');
    await writeFile(join(session.cwd, 'go'), '');
    assert.deepEqual(
      (await Promise.all(queued)).map(({ stdout }) => stdout),
      ['one\n', 'two\n'],
    );
  });

  it('remembers no more finished commands than its limit, the newest ones', async () => {
    const remembering = await open({ maxRememberedCommands: 5 });
    const { engine } = remembering;
    const session = await remembering.session('bash');
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) ids.push((await session.run(`echo ${n}`)).commandId);
    const listed = () => engine.listCommands({ sessionId: session.id }).commands.map(({ commandId }) => commandId);
    await until('no more are remembered', () => listed().length <= 5);
    assert.deepEqual(listed(), ids.slice(-5));
    for (const commandId of ids.slice(0, -5)) await fails(() => engine.output({ commandId }), 'command_not_found');
    assert.equal(bytesOf((await engine.output({ commandId: ids.at(-5) ?? '' })).chunks).toString(), '7\n');
  });

  it('remembers fewer finished commands when their texts are long, and always the last one', async () => {
    const remembering = await open({ maxCommandBytes: 1000 });
    const { engine } = remembering;
    const session = await remembering.session('bash');
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push((await session.run(`echo ${n} ${'x'.repeat(900)}`)).commandId);
    const listed = () => engine.listCommands({ sessionId: session.id }).commands.map(({ commandId }) => commandId);
    await until('no more are remembered', () => listed().length <= 2);
    assert.deepEqual(listed(), ids.slice(-2));
    for (const commandId of ids.slice(0, -2)) await fails(() => engine.output({ commandId }), 'command_not_found');
    const short = [];
    for (let n = 0; n < 6; n++) short.push((await session.run(`echo ${n}`)).commandId);
    assert.deepEqual(listed(), [...ids.slice(-2), ...short]);
  });

  it('keeps the files of no more commands than it remembers, also when nothing more is run', async () => {
    const remembering = await open({ maxRememberedCommands: 5 });
    const session = await remembering.session('bash');
    const directory = dirname((await session.run('echo 0')).logPath);
    for (let n = 1; n < 12; n++) {
      const { commandId } = await session.run(`echo ${n}`);
      const own = commandId.slice(commandId.lastIndexOf(':') + 1);
      await until('it is published', () => existsSync(join(directory, `${own}.labelers.done`)));
      const kept = 3 * Math.min(n + 1, 5);
      await until('no more files are there', () => readdirSync(directory).length <= kept);
    }
  });

  it('counts sessions, commands and bytes', async () => {
    const { engine } = await open();
    const { sessionId } = await engine.createSession({ shell: 'bash' });
    await engine.run({ sessionId, command: 'printf 12345; printf 123 >&2' });
    const { commandId } = await engine.start({ sessionId, command: 'echo ready >/dev/null; sleep 300' });
    await until('it runs', () => engine.sessionInfo(sessionId).state === 'running');
    const { sessions, commands, bytes, memory } = engine.stats();
    assert.deepEqual(
      { sessions, commands, bytes },
      {
        sessions: { total: 1, idle: 0, running: 1 },
        commands: { started: 2, running: 1, exited: 1 },
        bytes: { stdout: 5, stderr: 3 },
      },
    );
    assert.ok(memory.rssBytes > 0);
    await engine.cancel({ commandId });
  });

  it('knows the shells of the machine', async () => {
    const { engine } = await open();
    const found = await engine.shells();
    for (const shell of shells) {
      const known = found.find(({ name }) => name === shell);
      assert.ok(known, shell);
      assert.match(known.path, new RegExp(`^/.*/${shell}$`));
      assert.match(known.version, /\d+\.\d+/);
    }
  });

  it('closes as often as it is asked to, and takes nothing after', async () => {
    const { engine } = await open();
    const { sessionId, pid } = await engine.createSession({ shell: 'bash' });
    const running = engine.run({ sessionId, command: 'sleep 300' }).catch(() => undefined);
    await Promise.all([engine.close(), engine.close()]);
    await engine.close();
    await running;
    assert.ok(!isAlive(pid ?? 0));
    await fails(() => engine.createSession({ shell: 'bash' }), 'shutting_down');
    assert.deepEqual(engine.listSessions(), []);
  });
});
