import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '../../protocol/errors';
import { fails, forEachShell, until } from '../helpers/engine';

type Fields = Record<string, unknown>;

const times = [0, -1, Number.NaN, 2 ** 31, 1.5, Number.POSITIVE_INFINITY, '5', null];

const badTimes = (field: string): Array<[Fields, ErrorCode]> =>
  times.map((value) => [{ [field]: value }, 'invalid_params']);

const badEnvironments: Array<[Fields, ErrorCode]> = [
  [{ env: { 'A=B': 'c' } }, 'invalid_params'],
  [{ env: { '': 'c' } }, 'invalid_params'],
  [{ env: { '1A': 'c' } }, 'invalid_params'],
  [{ env: { 'A B': 'c' } }, 'invalid_params'],
  [{ env: { 'A\nB': 'c' } }, 'invalid_params'],
  [{ env: { A: 'b\0c' } }, 'invalid_params'],
  [{ env: { A: 5 } }, 'invalid_params'],
  [{ env: 'A=b' }, 'invalid_params'],
  [{ env: ['A=b'] }, 'invalid_params'],
];

const badDirectories: Array<[Fields, ErrorCode]> = [
  [{ cwd: '/no/such/directory' }, 'cwd_not_found'],
  [{ cwd: '/etc/passwd' }, 'cwd_not_found'],
  [{ cwd: '/tmp\0' }, 'invalid_params'],
  [{ cwd: '' }, 'invalid_params'],
  [{ cwd: 5 }, 'invalid_params'],
];

const badSessions: Array<[Fields, ErrorCode]> = [
  [{ shell: 'no-such-shell' }, 'shell_not_found'],
  [{ shell: '/no/such/shell' }, 'shell_not_found'],
  [{ shell: '' }, 'invalid_params'],
  [{ shell: 5 }, 'invalid_params'],
  ...badDirectories,
  ...badEnvironments,
  ...badTimes('defaultTimeoutMs'),
  ...badTimes('idleTimeoutMs'),
  [{ name: '' }, 'invalid_params'],
  [{ name: 5 }, 'invalid_params'],
  [{ profile: 'other' }, 'invalid_params'],
  [{ unknownField: true }, 'invalid_params'],
];

const badCommands: Array<[Fields, ErrorCode]> = [
  [{ command: 'touch ran\0' }, 'invalid_params'],
  [{ command: 5 }, 'invalid_params'],
  [{ command: undefined }, 'invalid_params'],
  [{ command: ['touch', 'ran'] }, 'invalid_params'],
  [{ command: `touch ran #${'x'.repeat(8 * 1024 * 1024)}` }, 'invalid_params'],
  [{ sessionId: 's-00000000' }, 'session_not_found'],
  [{ sessionId: '' }, 'invalid_params'],
  [{ sessionId: 5 }, 'invalid_params'],
  [{ sessionId: '../../etc' }, 'session_not_found'],
  ...badDirectories,
  ...badEnvironments,
  ...badTimes('timeoutMs'),
  [{ maxOutputBytes: 0 }, 'invalid_params'],
  [{ maxOutputBytes: -1 }, 'invalid_params'],
  [{ maxOutputBytes: 2 ** 40 }, 'invalid_params'],
  [{ onBusy: 'panic' }, 'invalid_params'],
  [{ unknownField: true }, 'invalid_params'],
];

/** Short, whatever the value; JSON would hide NaN and undefined. */
const describeFields = (fields: Fields): string => {
  const [[key, value] = []] = Object.entries(fields);
  const text =
    typeof value === 'object' ? JSON.stringify(value) : typeof value === 'string' ? `"${value}"` : String(value);
  return `${key} ${text.replaceAll('\0', '\\0').replaceAll('\n', '\\n').slice(0, 40)}`;
};

forEachShell('Bad input', (suite) => {
  for (const [fields, code] of badSessions) {
    it(`answers a session with ${describeFields(fields)} with ${code}`, async () => {
      const { opened, shell } = suite;
      await fails(() => opened.engine.createSession({ shell, ...fields } as never), code);
      assert.equal(opened.engine.listSessions().length, 1);
    });
  }

  for (const [fields, code] of badCommands) {
    it(`answers a command with ${describeFields(fields)} with ${code}, runs nothing and loses nothing`, async () => {
      const { opened, session } = suite;
      await session.run('x=kept');
      const params = { sessionId: session.id, command: 'touch ran', ...fields } as never;
      const { message } = await fails(() => opened.engine.run(params), code);
      assert.doesNotMatch(message, /x{300}/, 'the message does not repeat what was too long');
      await fails(() => opened.engine.start(params), code);
      await fails(() => opened.engine.stream(params, () => {}), code);
      assert.ok(!existsSync(join(session.cwd, 'ran')));
      await session.expect('echo "$x"', { stdout: 'kept\n' });
      assert.deepEqual([session.info().state, session.info().queued], ['idle', 0]);
    });
  }

  it('answers input that is not text with invalid_params', async () => {
    await fails(() => suite.session.run('touch ran', { stdin: 5 as never }), 'invalid_params');
    await suite.session.expect('ls');
  });

  it('answers bad questions about commands', async () => {
    const { opened, session } = suite;
    const { commandId } = await session.run('echo a');
    const { engine } = opened;
    const questions: Array<[() => unknown, ErrorCode]> = [
      [() => engine.wait({ commandId, until: [] }), 'invalid_params'],
      [() => engine.wait({ commandId, until: [{ port: 0 }] }), 'invalid_params'],
      [() => engine.wait({ commandId, until: [{ port: 65_536 }] }), 'invalid_params'],
      [() => engine.wait({ commandId, until: [{ silenceMs: -1 }] }), 'invalid_params'],
      [() => engine.wait({ commandId, until: [{ nothing: true } as never] }), 'invalid_params'],
      [() => engine.wait({ commandId, timeoutMs: Number.NaN }), 'invalid_params'],
      [() => engine.wait({ commandId: 5 as never }), 'invalid_params'],
      [() => engine.output({ commandId, fromSeq: -1 }), 'invalid_params'],
      [() => engine.output({ commandId, tailLines: -1 }), 'invalid_params'],
      [() => engine.output({ commandId, maxBytes: 0 }), 'invalid_params'],
      [() => engine.output({ commandId, stream: 'stdin' as never }), 'invalid_params'],
      [() => engine.output({ commandId: 'none' }), 'command_not_found'],
      [() => engine.follow({ commandId: 'none' }, () => {}), 'command_not_found'],
      [() => engine.cancel({}), 'invalid_params'],
      [() => engine.cancel({ commandId, sessionId: session.id }), 'invalid_params'],
      [() => engine.cancel({ commandId, signal: 'SIGNOPE' as never }), 'invalid_params'],
      [() => engine.input({ commandId: 'none', data: 'x' }), 'command_not_found'],
      [() => engine.listCommands({ sessionId: 's-00000000' }), 'session_not_found'],
      [() => engine.sessionInfo('s-00000000'), 'session_not_found'],
      [() => engine.destroySession('s-00000000'), 'session_not_found'],
    ];
    for (const [ask, code] of questions) await fails(ask, code);
    await session.expect('echo next', { stdout: 'next\n' });
  });

  it('answers a queued command whose directory is not one before it would be its turn', async () => {
    const { session } = suite;
    const running = await session.start('until [ -e go ]; do sleep 0.01; done');
    await fails(() => session.run('touch ran', { cwd: '/no/such/directory' }), 'cwd_not_found');
    assert.deepEqual([session.info().runningCommand?.commandId, session.info().queued], [running.id, 0]);
    await writeFile(join(session.cwd, 'go'), '');
    await running.wait();
    await session.expect('ls', { stdout: 'go\n' });
  });

  it('answers a command whose directory went away before its turn came, and runs nothing', async () => {
    const { session } = suite;
    const lent = join(session.cwd, 'lent');
    await mkdir(lent);
    const running = await session.start('until [ -e go ]; do sleep 0.01; done');
    const refused = fails(() => session.run(`touch '${session.cwd}/ran'`, { cwd: lent }), 'cwd_not_found');
    await until('it is queued', () => session.info().queued === 1);
    await rmdir(lent);
    await writeFile(join(session.cwd, 'go'), '');
    await refused;
    await running.wait();
    await session.expect('ls', { stdout: 'go\n' });
    assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
  });
});
