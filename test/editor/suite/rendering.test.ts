import assert from 'node:assert/strict';
import { PlainText } from '../../../extension/output/plain-text';
import { Transcript } from '../../../extension/output/transcript';
import { RecentIds } from '../../../extension/recent-ids';
import { shownDirectory } from '../../../extension/sessions/directory';
import { pageOf } from '../../../extension/sessions/nodes';
import { commandRow, sessionRow } from '../../../extension/sessions/rows';
import { duration, elapsed } from '../../../extension/sessions/words';
import type { CommandSnapshot, SessionInfo } from '../../../protocol/values';

const start = Date.parse('2026-01-02T03:04:05.000Z');

function command(number: number, fields: Partial<CommandSnapshot> = {}): CommandSnapshot {
  return {
    commandId: `s-1:${number}`,
    sessionId: 's-1',
    command: `echo ${number}`,
    startedAt: new Date(start).toISOString(),
    stdoutBytes: 0,
    stderrBytes: 0,
    background: false,
    origin: 'vscode',
    state: 'finished',
    outcome: 'exited',
    exitCode: 0,
    durationMs: 12,
    ...fields,
  };
}

const session: SessionInfo = {
  sessionId: 's-1',
  name: 'build',
  shell: 'bash',
  shellPath: '/bin/bash',
  pid: 42,
  state: 'idle',
  cwd: '/srv/app/src',
  createdAt: new Date(start).toISOString(),
  lastActiveAt: new Date(start).toISOString(),
  restarts: 0,
  queued: 0,
  backgroundCount: 0,
  envKeys: [],
  notes: [],
};

describe('the lines of the Sessions view', () => {
  const shown = ({ label, description, icon, contextValue, spoken }: ReturnType<typeof commandRow>) =>
    [`${label} | ${description}`, icon.id, contextValue, spoken] as const;

  it('say of a session which shell it is, where it is, and what runs how long', () => {
    assert.deepEqual(shown(sessionRow(session, './src', start)), [
      'build | bash · ./src',
      'terminal',
      'session.idle',
      'Session build, bash, in ./src, idle',
    ]);
    const runningCommand = { commandId: 's-1:1', command: 'npm   test\n', startedAt: session.createdAt };
    const busy = { ...session, runningCommand, queued: 2, backgroundCount: 1 };
    assert.deepEqual(shown(sessionRow(busy, './src', start + 65_000)), [
      'build | bash · ./src · npm test (1 min 5 s) · 2 queued · 1 in background',
      'loading~spin',
      'session.running',
      'Session build, bash, in ./src, running npm test for 1 min 5 s, 1 in background',
    ]);
  });

  it('say of a command how it ended, how long it took and who ran it', () => {
    const rows = [
      command(1),
      command(2, { exitCode: 2, origin: 'person' }),
      command(3, { outcome: 'cancelled', exitCode: null, durationMs: 61_000 }),
      command(4, { outcome: 'signaled', signal: 'SIGKILL', exitCode: null, origin: 'cli' }),
      command(5, { outcome: 'timed_out', exitCode: null, durationMs: 1500 }),
      command(6, { outcome: 'shell_exited', exitCode: 3 }),
      command(7, { state: 'running', background: true }),
      command(8, { state: 'queued' }),
    ].map((one) => shown(commandRow(one, start + 9000)).slice(0, 3));
    assert.deepEqual(rows, [
      ['echo 1 | exit 0 · 12 ms', 'pass', 'command.finished'],
      ['echo 2 | exit 2 · 12 ms · you', 'error', 'command.finished'],
      ['echo 3 | cancelled · 1 min 1 s', 'circle-slash', 'command.finished'],
      ['echo 4 | SIGKILL · 12 ms · cli', 'error', 'command.finished'],
      ['echo 5 | timed out · 1.5 s', 'watch', 'command.finished'],
      ['echo 6 | exit 3, shell ended · 12 ms', 'error', 'command.finished'],
      ['echo 7 | 9 s · background', 'server-process', 'command.running'],
      ['echo 8 | queued', 'clock', 'command.queued'],
    ]);
    const stopping = commandRow(command(9, { state: 'running' }), start + 9000, true);
    assert.deepEqual(shown(stopping).slice(0, 3), ['echo 9 | stopping · 9 s', 'loading~spin', 'command.stopping']);
  });

  it('have what goes on first, then the newest, a page at a time', () => {
    const commands = [
      command(1, { state: 'running', background: true }),
      ...Array.from({ length: 5000 }, (_, at) => command(at + 2)),
      command(5002, { state: 'running' }),
    ];
    const { shown: page, hidden } = pageOf(commands, 3);
    assert.deepEqual(
      page.map(({ commandId }) => commandId),
      ['s-1:5002', 's-1:1', 's-1:5001', 's-1:5000', 's-1:4999'],
    );
    assert.equal(hidden, 4997);
  });

  it('show directories relative to the workspace folder they are in', () => {
    const app = { name: 'app', path: '/srv/app' };
    assert.deepEqual(
      ['/srv/app', '/srv/app/src', '/srv/app/..hidden', '/srv/application', '/'].map((cwd) =>
        shownDirectory(cwd, [app]),
      ),
      ['.', './src', './..hidden', '/srv/application', '/'],
    );
    assert.equal(shownDirectory('/srv/lib/x', [app, { name: 'lib', path: '/srv/lib' }]), 'lib/x');
  });

  it('are told from those seen before by ids, of which the newest are remembered', () => {
    const seen = new RecentIds(['a'], 3);
    for (const id of ['b', 'b', 'c', 'd']) seen.add(id);
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((id) => seen.has(id)),
      [false, true, true, true],
    );
  });

  it('round times to what matters', () => {
    assert.deepEqual([0.4, 999, 1234, 65_000, 3_700_000].map(duration), [
      '0 ms',
      '999 ms',
      '1.2 s',
      '1 min 5 s',
      '1 h 1 min',
    ]);
    assert.deepEqual([0, 59_999, -5].map(elapsed), ['0 s', '59 s', '0 s']);
  });
});

describe('the text of an output channel', () => {
  it('has each command with its line, both streams told apart, and how it ended', () => {
    const transcript = new Transcript();
    const one = command(1, { command: 'make\nmake install', origin: 'person' });
    transcript.command(one);
    transcript.output(one, 'stdout', 'half');
    transcript.output(one, 'stdout', ' a line\nnext\n');
    transcript.output(one, 'stderr', 'warning\nanother\n');
    transcript.output(one, 'stdout', 'no end');
    transcript.end(one, { ...one, exitCode: 2, notes: ['A note.'] });
    assert.equal(
      transcript.take(),
      [
        '$ make    # you',
        '$ make install',
        'half a line',
        'next',
        '┃ warning',
        '┃ another',
        'no end',
        '✘ exit 2 · 12 ms',
        '… A note.',
        '',
        '',
      ].join('\n'),
    );
    assert.equal(transcript.take(), '');
  });

  it('keeps the lines of commands in the background apart by their number', () => {
    const transcript = new Transcript();
    const server = command(1, { command: 'serve', background: true });
    const other = command(2, { command: 'echo' });
    transcript.command(server);
    transcript.output(server, 'stdout', 'listen');
    transcript.command(other);
    transcript.output(other, 'stdout', 'x');
    transcript.output(server, 'stdout', 'ing\n');
    transcript.output(server, 'stderr', 'oops\n');
    transcript.end(server, server);
    assert.equal(
      transcript.take(),
      ['[1] $ serve', '[1] listen', '$ echo', 'x', '[1] ing', '[1] ┃ oops', '[1] ✔ exit 0 · 12 ms', '', ''].join('\n'),
    );
  });

  it('is free of what only a terminal understands, however it is cut into pieces', () => {
    const raw = '\u001b[31mred\u001b[0m\r\n10%\r20%\r\n\u001b]0;title\u0007done\u0000\u0008\n';
    const expected = 'red\n10%\n20%\ndone\n';
    for (let size = 1; size <= raw.length; size++) {
      const plain = new PlainText();
      let text = '';
      for (let at = 0; at < raw.length; at += size) text += plain.take(raw.slice(at, at + size));
      assert.equal(text + plain.rest(), expected, `in pieces of ${size}`);
    }
  });
});
