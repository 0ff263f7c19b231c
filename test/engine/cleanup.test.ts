import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { Engine } from '../../sidecar/engine/engine';
import { forEachShell, OpenedEngine, type OpenedSession, shells, until } from '../helpers/engine';
import { fixture } from '../helpers/fixtures';
import { childrenOf, isAlive, openDescriptors, processesHolding, processesMarked, zombies } from '../helpers/processes';
import { programs } from '../helpers/sidecar';

const long = process.env.LIMPET_LONG === '1';

const everythingIn = (directory: string): string[] =>
  existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted() : [];

/** Ways out of a session's family; each leaves a process behind. */
const escapes: Array<[string, string]> = [
  ['a job', 'sleep 300 &'],
  ['a job that holds nothing', 'sleep 300 >/dev/null 2>&1 &'],
  ['nohup', 'nohup sleep 300 >/dev/null 2>&1 &'],
  ['disown', 'sleep 300 >/dev/null 2>&1 & disown'],
  ['setsid', 'setsid sleep 300 >/dev/null 2>&1 &'],
  ['setsid that forks', 'setsid -f sleep 300 >/dev/null 2>&1'],
  ['a double fork', '( ( sleep 300 >/dev/null 2>&1 & ) & )'],
  ['a subshell without a parent', '( ( while :; do :; done >/dev/null 2>&1 ) & )'],
  ['a daemon', `${fixture('double-fork.js', 'pid')}; until [ -s pid ]; do sleep 0.01; done`],
  ['a process that ignores signals', `${fixture('ignores-signals.sh')} >/dev/null 2>&1 &`],
  ['a stopped process', 'sleep 300 >/dev/null 2>&1 & kill -STOP $!'],
  ['a process that starts others all the time', "sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &"],
  ['a coprocess of pipes', 'yes | cat | cat >/dev/null 2>&1 &'],
];

/** What an engine and its session have open and have on disk, once both have done what they put off. */
async function footprintAtRest({
  session,
  opened,
}: {
  session: OpenedSession;
  opened: OpenedEngine;
}): Promise<string[]> {
  const snapshot = join(opened.runtimeDir, 'sessions', session.id, 'snapshot');
  const lastNumber = Number((await session.run('true')).commandId.split(':')[1]);
  const done = join(opened.stateDir, 'sessions', session.id, `${lastNumber}.labelers.done`);
  const newest = () => (existsSync(snapshot) ? lstatSync(snapshot).mtimeMs : 0);
  const before = newest();
  await until('the end of the last command is published', () => existsSync(done));
  await until('a snapshot is taken', () => newest() > before);
  await until('the dead are collected', () => zombies().length === 0);
  await until('everything is logged', () =>
    readdirSync(opened.runtimeDir)
      .filter((name) => name.startsWith('unlogged-'))
      .every((name) => lstatSync(join(opened.runtimeDir, name)).size === 0),
  );
  return [
    ...openDescriptors()
      .filter(isNotOfPool())
      .map((target) => `open: ${target.replace(/\[\d+\]/, '')}`),
    ...everythingIn(opened.runtimeDir),
  ];
}

/** Leaves out one descriptor of each slot's FIFO: whether a slot that is free is open depends on who used it last. */
function isNotOfPool(): (target: string) => boolean {
  const seen = new Set<string>();
  return (target) => {
    const isFirst = /\/[oe]\d+$/.test(target) && !seen.has(target);
    seen.add(target);
    return !isFirst;
  };
}

/** What is there now and was not before, each as often as it is there. */
function beyond(now: readonly string[], before: readonly string[]): string[] {
  const left = [...before];
  return now.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

let marks = 0;
const newMark = () => `MARKED_BY_TEST=${process.pid}-${++marks}.`;

forEachShell('Clean-up', (suite) => {
  for (const [name, command] of escapes) {
    it(`leaves nothing of ${name} after destroy`, async () => {
      const mark = newMark();
      const session = await suite.opened.session(suite.shell, { env: { MARKED_BY_TEST: mark.split('=')[1] ?? '' } });
      await session.run(command, { timeoutMs: 10_000 });
      // One that is just becoming another program has no environment to be found by.
      await until('the shell and what it left run', () => processesMarked(mark).length >= 2);
      await session.destroy();
      assert.deepEqual(processesMarked(mark), []);
      await until('the dead are collected', () => zombies().length === 0);
    });
  }

  it('finds a process without its environment by the output it holds', async () => {
    const session = await suite.opened.session(suite.shell);
    await session.run("env -i setsid sh -c 'echo $$ > pid; exec sleep 300' & until [ -s pid ]; do sleep 0.01; done");
    const pid = Number(readFileSync(join(session.cwd, 'pid'), 'utf8'));
    assert.ok(isAlive(pid));
    await session.destroy();
    assert.ok(!isAlive(pid));
  });

  it('kills what runs, in the foreground and in the background, when a session is destroyed', async () => {
    const mark = newMark();
    const session = await suite.opened.session(suite.shell, { env: { MARKED_BY_TEST: mark.split('=')[1] ?? '' } });
    const behind = await session.start(fixture('ignores-signals.sh'), { background: true });
    await behind.wait([{ output: 'ready' }]);
    const front = await session.start(`echo ready; yes | cat | tail`);
    assert.equal((await front.wait([{ output: 'ready' }])).met, 'output');
    await session.destroy();
    assert.deepEqual(processesMarked(mark), []);
  });

  it('leaves other sessions and their jobs alone', async () => {
    const { session, opened, shell } = suite;
    const pid = Number(await session.text('sleep 300 >/dev/null 2>&1 & echo $!'));
    const other = await opened.session(shell);
    await other.run('sleep 300 &');
    await other.destroy();
    assert.ok(isAlive(pid));
    await session.expect('echo still here', { stdout: 'still here\n' });
  });

  it('leaves no file of a destroyed session in the runtime directory', async () => {
    const { opened, shell } = suite;
    const session = await opened.session(shell);
    const files = () => everythingIn(opened.runtimeDir).filter((name) => name.includes(session.id));
    await session.run('echo a', { stdin: 'text' });
    await session.start('sleep 300', { background: true, keepStdinOpen: true });
    await session.start('sleep 300');
    assert.notDeepEqual(files(), []);
    await session.destroy();
    assert.deepEqual(files(), []);
  });

  it('leaves no file, descriptor or zombie behind a command, however it ended', async () => {
    const { session } = suite;
    const rounds = long ? 200 : 4;
    const everyEnding = async () => {
      await session.run('echo a; echo b >&2');
      await session.run('cat', { stdin: 'text' });
      await session.run('echo "');
      await session.run('exit 3');
      await session.run('sleep 300', { timeoutMs: 30 });
      await session.run('kill -9 $$');
      await session.run('exec true');
      const cancelled = await session.start('sleep 300', { keepStdinOpen: true });
      await cancelled.cancel();
      const behind = await session.start('echo a', { background: true, keepStdinOpen: true });
      await behind.wait();
      await session.run('sleep 0.01 & true');
      await session.run('true', { env: { A: 'b' }, cwd: '/' });
      await Promise.all(Array.from({ length: 5 }, () => session.run('true')));
    };
    for (let round = 0; round < 2; round++) await everyEnding();
    const early = await footprintAtRest(suite);
    for (let round = 0; round < rounds; round++) await everyEnding();
    assert.deepEqual(beyond(await footprintAtRest(suite), early), []);
  });

  it('runs many commands without a descriptor, zombie or file more', async () => {
    const { session } = suite;
    const count = long ? 10_000 : 600;
    for (let n = 0; n < 300; n++) await session.run('echo a');
    const early = await footprintAtRest(suite);
    for (let n = 0; n < count; n++) await session.run(n % 10 === 0 ? 'ls /' : 'echo a');
    assert.deepEqual(beyond(await footprintAtRest(suite), early), []);
  });

  it('gives back every descriptor and child when it closes, also with busy sessions', async () => {
    const { shell } = suite;
    const descriptors = openDescriptors();
    const mark = newMark();
    const env = { ...process.env, MARKED_BY_TEST: mark.split('=')[1] };
    const engine = await OpenedEngine.open({ env });
    try {
      const sessions = await Promise.all([1, 2, 3, 4].map(() => engine.session(shell)));
      for (const session of sessions) {
        await session.run('setsid sleep 300 >/dev/null 2>&1 &');
        await session.start('sleep 300', { background: true });
        await session.start('yes');
      }
      await until('all run', () => processesMarked(mark).length >= 16);
      await engine.engine.close();
      assert.deepEqual(processesMarked(mark), []);
      await until('every child is collected', () => zombies().length === 0);
      const fifos = everythingIn(engine.root).filter((name) => lstatSync(join(engine.root, name)).isFIFO());
      assert.deepEqual(fifos, []);
    } finally {
      await engine.dispose();
    }
    await until('every descriptor is back', () => openDescriptors().length <= descriptors.length);
  });

  it('has no child any more once it has closed, not even a dead one', async () => {
    const others = childrenOf(process.pid);
    const engine = await OpenedEngine.open();
    try {
      await engine.session(suite.shell);
      await engine.engine.close();
      assert.deepEqual(
        childrenOf(process.pid).filter((pid) => !others.includes(pid)),
        [],
      );
    } finally {
      await engine.dispose();
    }
  });

  it('leaves nothing when a session can not be created', async () => {
    const { opened } = suite;
    // Directories made ahead for sessions to come are not counted.
    const files = () => everythingIn(opened.runtimeDir).filter((name) => !name.includes('spare'));
    const before = files();
    const descriptors = openDescriptors();
    for (const shell of ['no-such-shell', '/bin/true', '/bin/cat', '/etc/passwd', '/']) {
      await assert.rejects(
        () => opened.engine.createSession({ shell }),
        ({ code }) => ['shell_not_found', 'shell_start_failed', 'not_supported'].includes(code),
      );
    }
    assert.deepEqual(files(), before);
    await until('every child is collected', () => zombies().length === 0);
    await until('every descriptor is back', () => openDescriptors().length <= descriptors.length);
  });

  it('keeps what it writes from other users', async () => {
    const { opened, session } = suite;
    await session.run('umask 000; echo a', { stdin: 'text' });
    await session.run('echo b');
    for (const directory of [opened.runtimeDir, opened.stateDir]) {
      for (const name of ['.', ...everythingIn(directory)]) {
        const status = lstatSync(join(directory, name));
        if (status.isSymbolicLink()) continue;
        assert.equal((status.mode & 0o077).toString(8), '0', `${name} belongs to its owner alone`);
      }
    }
  });
});

describe('An engine beside others', () => {
  let root = '';
  const children: ChildProcess[] = [];
  const engines: Engine[] = [];
  const directories = () => ({ runtimeDir: join(root, 'run'), stateDir: join(root, 'state') });
  const startOther = async (shell: string) => {
    const { runtimeDir, stateDir } = directories();
    const child = fork(programs().engineProcess, [runtimeDir, stateDir, shell], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(child);
    const [info] = (await once(child, 'message')) as [{ sessionId: string; pid: number }];
    const ask = async (command: string) => {
      child.send(command);
      return ((await once(child, 'message')) as [string])[0];
    };
    return { child, ask, ...info };
  };
  const open = async () => {
    const engine = await Engine.open(directories());
    engines.push(engine);
    return engine;
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'limpet-test-'));
  });
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    // A last engine takes care of what killed ones left.
    await (await Engine.open(directories())).close();
    await rm(root, { recursive: true, force: true });
  });

  it('sweeps a directory in which a process that nobody can see yet still makes files', async () => {
    const directory = join(root, 'run', 'sessions', 'spare-1-0');
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(join(directory, 'owner'), '"nobody"');
    const script = 'n=0; while : > "$0/$n"; do n=$((n + 1)); [ $n -lt 2000 ] || exec sleep 300 < "$0/1999"; done';
    const maker = spawn('sh', ['-c', script, directory], { stdio: 'ignore' });
    children.push(maker);
    await until('it is at work', () => existsSync(join(directory, '100')));
    const ended = once(maker, 'exit');
    await open();
    assert.ok(!existsSync(directory));
    await ended;
  });

  it('sweeps at once what was being made or removed when a sidecar was killed', async () => {
    const gone = spawn('true');
    await once(gone, 'exit');
    const half = [`spare-${gone.pid}-0`, 's-a1b2c3d4'].map((name) => join(root, 'run', 'sessions', name));
    for (const directory of half) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(join(directory, 'journal'), '');
    }
    await open();
    assert.deepEqual(half.filter(existsSync), []);
  });

  it('sweeps all that dead ones left with few looks at the processes of the machine', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `s-${String(n).padStart(8, '0')}`);
    const directories = names.map((name) => join(root, 'run', 'sessions', name));
    for (const directory of directories) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(join(directory, 'owner'), '"nobody"');
    }
    const left = spawn('sh', ['-c', 'exec sleep 300 < "$0/owner"', directories.at(-1) ?? ''], { stdio: 'ignore' });
    children.push(left);
    await until('it holds a file', () => processesHolding(directories.at(-1) ?? '').includes(left.pid ?? 0));
    const ended = once(left, 'exit');
    const reading = mock.method(fs, 'readdirSync');
    try {
      await open();
      const looks = reading.mock.calls.filter(({ arguments: [path] }) => path === '/proc').length;
      assert.ok(looks < directories.length, `${looks} looks`);
    } finally {
      reading.mock.restore();
    }
    assert.deepEqual(directories.filter(existsSync), []);
    await ended;
  });

  it('leaves alone what a living one is just making', async () => {
    const other = spawn('sleep', ['300'], { stdio: 'ignore' });
    children.push(other);
    const directory = join(root, 'run', 'sessions', `spare-${other.pid}-0`);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await open();
    assert.ok(existsSync(directory));
  });

  for (const shell of shells) {
    it(`sweeps what a dead one left when everything in its ${shell} session is dead too`, async () => {
      const other = await startOther(shell);
      await other.ask('x=1');
      other.child.kill('SIGKILL');
      await once(other.child, 'exit');
      const rest = processesHolding(join(root, 'run', 'sessions', other.sessionId));
      assert.ok(rest.includes(other.pid));
      for (const pid of rest) process.kill(pid, 'SIGKILL');
      await until('they are gone', () => !rest.some(isAlive));
      await open();
      await until('its files are gone', () =>
        everythingIn(join(root, 'run')).every((name) => !name.includes(other.sessionId)),
      );
    });

    it(`goes on with the living ${shell} of a dead one, and destroys all of it when asked`, async () => {
      const other = await startOther(shell);
      const job = Number(await other.ask('x=kept; sleep 300 >/dev/null 2>&1 & echo $!'));
      other.child.kill('SIGKILL');
      await once(other.child, 'exit');
      const engine = await open();
      const { stdout } = await engine.run({ sessionId: other.sessionId, command: 'echo "$x"' });
      assert.equal(stdout, 'kept\n');
      await engine.destroySession(other.sessionId);
      assert.ok(!isAlive(other.pid) && !isAlive(job));
      assert.ok(everythingIn(join(root, 'run')).every((name) => !name.includes(other.sessionId)));
    });

    it(`leaves a living one with its ${shell} alone`, async () => {
      const other = await startOther(shell);
      await other.ask('x=kept');
      const engine = await open();
      assert.ok(engine.listSessions().every(({ sessionId }) => sessionId !== other.sessionId));
      assert.equal(await other.ask('echo "$x"'), 'kept\n');
      await engine.close();
      assert.equal(await other.ask('echo "$x"'), 'kept\n');
      assert.ok(isAlive(other.pid));
      other.child.disconnect();
      await once(other.child, 'exit');
      assert.ok(!isAlive(other.pid));
    });
  }
});
