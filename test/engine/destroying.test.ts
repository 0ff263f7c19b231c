import assert from 'node:assert/strict';
import fs, { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import type { ChangeEvent } from '../../protocol/values';
import { holdAt } from '../../sidecar/checkpoints';
import { forEachShell, OpenedEngine, shells } from '../helpers/engine';

forEachShell('Destroying a session', (suite) => {
  it('ends what runs, and tells of what had yet to run that it never did', async () => {
    const { session } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const answers = Promise.all([running.wait(), session.run('touch ran')]);
    await session.destroy();
    const [ended, queued] = await answers;
    assert.deepEqual(
      [ended, queued].map(({ outcome, exitCode, signal, stdout, notes }) => ({
        ...{ outcome, exitCode, signal, stdout, notes },
      })),
      [
        {
          ...{ outcome: 'cancelled', exitCode: null, signal: 'SIGKILL', stdout: 'ready\n' },
          notes: ['The session was destroyed before the command ended.'],
        },
        { outcome: 'cancelled', exitCode: null, signal: null, stdout: '', notes: ['It was never started.'] },
      ],
    );
    assert.ok(!existsSync(join(session.cwd, 'ran')));
  });

  it('publishes the end of every command, for those who wait for it from outside', async () => {
    const { session } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    const answers = Promise.all([running.wait(), session.run('touch ran')]);
    await session.destroy();
    for (const { logPath = '' } of await answers) {
      const beside = (name: string) => logPath.replace(/log$/, name);
      assert.ok(existsSync(beside('labelers.done')), `${logPath} is complete`);
      assert.equal(readFileSync(beside('exit'), 'utf8').trim(), 'unknown');
    }
  });

  it('ends it although its files cannot be removed', async () => {
    const { session, opened } = suite;
    const remove = fs.rmSync;
    mock.method(fs, 'rmSync', (...args: Parameters<typeof remove>) => {
      if (String(args[0]).startsWith(`${opened.runtimeDir}/`))
        throw Object.assign(new Error('refused'), { code: 'EROFS' });
      return remove(...args);
    });
    try {
      await session.expect('cat', { stdout: 'text' }, { stdin: 'text' });
      const running = await session.start('echo text; sleep 300', { background: true });
      await running.wait([{ output: 'text' }]);
      const answer = running.wait();
      await session.destroy();
      assert.equal((await answer).outcome, 'cancelled');
    } finally {
      mock.restoreAll();
    }
    assert.deepEqual(opened.engine.listSessions(), []);
  });

  it('goes on when one of its steps fails', async () => {
    const { session, opened } = suite;
    const running = await session.start('echo ready; sleep 300');
    await running.wait([{ output: 'ready' }]);
    holdAt((point) => {
      if (point === 'publication-begun') throw new Error('It could not be published.');
    });
    try {
      await session.destroy();
    } finally {
      holdAt(undefined);
    }
    assert.deepEqual(opened.engine.listSessions(), []);
    assert.ok(!existsSync(join(opened.runtimeDir, 'sessions', session.id)));
  });

  it('is told once, however many ask for it at the same time', async () => {
    const { session, opened } = suite;
    const events: ChangeEvent[] = [];
    const listening = opened.engine.onChange((event) => events.push(event));
    await Promise.allSettled([session.destroy(), session.destroy(), session.destroy()]);
    listening.dispose();
    assert.equal(events.filter(({ event }) => event === 'session_gone').length, 1);
  });
});

describe('Logs of commands that ran when their sessions were destroyed', () => {
  it('make room for others', async () => {
    const opened = await OpenedEngine.open({ limits: { maxLogBytesTotal: 200_000 } });
    try {
      for (let n = 0; n < 6; n++) {
        const session = await opened.session(shells[0]);
        const running = await session.start('seq 10000; sleep 300');
        await running.wait([{ output: '10000\n' }]);
        await session.destroy();
      }
      const { notes, stdoutBytes } = await (await opened.session(shells[0])).run('seq 10000');
      assert.deepEqual([notes, stdoutBytes], [[], 48_894]);
    } finally {
      await opened.dispose();
    }
  });
});

describe('A session with an idle time-out', () => {
  it('has all of it after a command in the background has ended', async () => {
    const opened = await OpenedEngine.open();
    try {
      const idleTimeoutMs = 1000;
      const session = await opened.session(shells[0], { idleTimeoutMs });
      const gone = new Promise<number>((resolve) => {
        opened.engine.onChange(({ event }) => event === 'session_gone' && resolve(performance.now()));
      });
      const command = await session.start('sleep 0.8', { background: true });
      await command.wait();
      const ended = performance.now();
      assert.ok((await gone) - ended >= idleTimeoutMs - 50, 'it was not taken for idle while that ran');
    } finally {
      await opened.dispose();
    }
  });
});

describe('Commands that have yet to run', () => {
  it('take nobody’s place among those that are remembered', async () => {
    const opened = await OpenedEngine.open({ limits: { maxRememberedCommands: 3 } });
    try {
      const session = await opened.session(shells[0]);
      const gate = await session.start('read line', { keepStdinOpen: true });
      const [first, second] = [await session.start('echo first'), await session.start('echo second')];
      const last = await session.start('echo ready; read line', { keepStdinOpen: true });
      for (let n = 0; n < 5; n++) await session.start('true');
      await gate.input('go\n');
      await last.wait([{ output: 'ready' }]);
      assert.deepEqual([(await first.wait()).stdout, (await second.wait()).stdout], ['first\n', 'second\n']);
    } finally {
      await opened.dispose();
    }
  });
});
