import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SidecarClient } from '../../client/client';
import type { LimpetError } from '../../protocol/errors';
import { isAlive, processesMarked, startTimeOf, statusOf } from '../helpers/processes';
import { Sandbox, until } from '../helpers/sidecar';
import { figure } from '../helpers/station';

let marks = 0;

describe('A stranger whose pid is in the journal of a dead sidecar', () => {
  let sandbox: Sandbox;
  let client: SidecarClient;
  let stranger: ChildProcess;
  let mark: string;
  let seen: string;

  beforeEach(async () => {
    sandbox = new Sandbox();
    mark = `${process.pid}-${++marks}.`;
    seen = join(sandbox.dir, 'signals');
    client = await sandbox.connect();
    // It notes every signal that it can, and says when it is ready to.
    const note = `n() { echo $1 >>'${seen}'; }; for s in HUP INT QUIT USR1 USR2 TERM CONT WINCH; do trap "n $s" $s; done`;
    stranger = spawn('bash', ['-c', `${note}; echo ready >'${seen}'; while :; do sleep 0.05; done`], {
      stdio: 'ignore',
    });
    await until(() => existsSync(seen) && readFileSync(seen, 'utf8') === 'ready\n', 'the stranger is ready');
  });
  afterEach(async () => {
    stranger.kill('SIGKILL');
    await sandbox.dispose();
  });

  const journalOf = (sessionId: string) => join(sandbox.runtimeDir, 'sessions', sessionId, 'journal');
  const left = () => processesMarked(`WRONGED_BY_TEST=${mark}`);
  const assertUnharmed = async () => {
    const pid = stranger.pid ?? 0;
    assert.ok(isAlive(pid), 'the stranger lives');
    assert.notEqual(statusOf(pid)?.state, 'T', 'and is not stopped');
    // bash heeds the signal with the highest number last, so by then it has noted every other.
    process.kill(pid, 'SIGWINCH');
    const noted = await until(() => {
      const text = readFileSync(seen, 'utf8');
      return text.endsWith('WINCH\n') && text;
    }, 'the stranger has noted what it was sent');
    assert.equal(noted, 'ready\nWINCH\n', 'and it was sent nothing else');
  };

  const startTimes: Record<string, (pid: number) => string> = {
    'with the start time of another': (pid) => String(Number(startTimeOf(pid)) - 1),
    'with its own start time': (pid) => String(startTimeOf(pid)),
  };
  /** Whose place in the journal it takes. */
  const roles = { 'the shell': 'shell', 'the keepers': 'keepers', 'the shell and the keepers': 'both' } as const;

  for (const [how, startTime] of Object.entries(startTimes)) {
    for (const [whom, role] of Object.entries(roles)) {
      it(`in place of ${whom}, ${how}: lives, and is never signalled`, async () => {
        const create = { cwd: sandbox.work, env: { WRONGED_BY_TEST: mark } };
        const { sessionId, pid: shell } = await client.request('session.create', create);
        const { commandId } = await client.request('exec.start', { sessionId, command: 'echo begun; sleep 300' });
        await client.request('exec.wait', { commandId, until: [{ output: 'begun' }] });
        const { pid: sidecar } = client.sidecar;
        process.kill(sidecar, 'SIGKILL');
        await until(() => !isAlive(sidecar), 'it is gone');
        client.dispose();
        const pid = stranger.pid ?? 0;
        const wrong = { pid, startTime: startTime(pid) };
        const changed = readFileSync(journalOf(sessionId), 'utf8').replace(/^\["condition",.*$/gm, (line) => {
          const [kind, condition] = JSON.parse(line);
          assert.deepEqual([condition.shell.pid, condition.keepers.length], [shell, 1]);
          if (role !== 'keepers') condition.shell = wrong;
          if (role !== 'shell') condition.keepers = [wrong];
          return JSON.stringify([kind, condition]);
        });
        assert.ok(changed.includes(JSON.stringify(wrong)), 'the journal names the stranger');
        writeFileSync(journalOf(sessionId), changed);
        client = await sandbox.connect();
        const { sessions } = await client.request('session.list', {});
        for (const session of sessions) {
          assert.notEqual(session.pid, pid);
          // Without its shell, which is nobody's to go on with, the command may be over before.
          await client.request('exec.cancel', { commandId }).catch((error: LimpetError) => {
            assert.deepEqual([error.code, role], ['command_finished', 'shell']);
          });
          const { stdout, exitCode } = await client.request('exec.run', { sessionId, command: 'echo a; (exit 3)' });
          assert.deepEqual([stdout, exitCode], ['a\n', 3]);
          await client.request('session.destroy', { sessionId });
        }
        await until(() => left().length === 0, 'everything that was the session’s is gone');
        await assertUnharmed();
        figure(`the session was ${sessions.length === 1 ? 'gone on with' : 'removed'}; the stranger had no signal`);
      });
    }
  }
});
