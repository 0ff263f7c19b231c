import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../helpers/sidecar';
import { figure, Station } from '../helpers/station';

describe('A runtime directory that somebody removes', () => {
  let station: Station;
  beforeEach(async () => {
    station = await Station.open();
  });
  afterEach(() => station.dispose());

  /** As a clean-up of temporary files would; resolves when the sidecar has made it again, which it may do meanwhile. */
  async function remove(session: string): Promise<void> {
    const { runtimeDir } = station.sandbox;
    const file = (name: string) => join(runtimeDir, 'sessions', session, name);
    writeFileSync(file('old'), '');
    spawnSync('rm', ['-rf', runtimeDir]);
    await until(() => !existsSync(file('old')) && existsSync(file('journal')), 'the directory is there again');
  }

  for (const shell of ['bash', 'zsh']) {
    it(`changes nothing for what runs in ${shell}, nor for what comes next`, async () => {
      const session = await station.session({ shell });
      await station.run(session, 'kept=here; f() { echo "f $kept"; }');
      const waits = 'echo begun; read word; echo "got $word"; echo apart >&2; (exit 6)';
      const behind = await station.start(session, waits, { background: true, keep_stdin_open: true });
      await station.client.data('exec.wait', { command_id: behind, until: [{ output: 'begun' }] });
      const running = await station.start(session, waits, { keep_stdin_open: true });
      await station.client.data('exec.wait', { command_id: running, until: [{ output: 'begun' }] });
      const other = await station.session({ shell });
      const silent = await station.start(other, 'sleep 1; (exit 8)');

      await remove(session);

      assert.equal((await station.client.data('exec.wait', { command_id: silent })).exit_code, 8);

      for (const command_id of [running, behind]) {
        await station.client.data('exec.input', { command_id, data: 'word\n' });
        const { outcome, exit_code, stdout, stderr, notes } = await station.client.data('exec.wait', { command_id });
        assert.deepEqual(
          { outcome, exit_code, stdout, stderr, notes },
          { outcome: 'exited', exit_code: 6, stdout: 'begun\ngot word\n', stderr: 'apart\n', notes: [] },
        );
      }
      assert.equal((await station.run(session, 'f')).stdout, 'f here\n');
      await station.assertNextCommandWorks(session);
      await station.assertNextCommandWorks(await station.session({ shell }));
      figure(`${shell}: a foreground and a background command went on with their exit codes and output`);
    });

    it(`costs ${shell} neither its state when the shell is killed later, nor its session when the sidecar is`, async () => {
      const session = await station.session({ shell });
      await station.run(session, 'kept=here');
      await remove(session);
      await station.saved(session, 'here');
      assert.equal((await station.run(session, 'kill -9 $$')).outcome, 'shell_exited');
      assert.equal((await station.run(session, 'echo $kept')).stdout, 'here\n');
      const running = await station.start(session, 'echo begun; sleep 0.5; echo over; (exit 5)');
      await station.client.data('exec.wait', { command_id: running, until: [{ output: 'begun' }] });
      await station.program.kill('SIGKILL');
      const client = await station.sandbox.connect();
      const { outcome, exitCode, stdout } = await client.request('exec.wait', { commandId: running });
      assert.deepEqual({ outcome, exitCode, stdout }, { outcome: 'exited', exitCode: 5, stdout: 'begun\nover\n' });
      client.dispose();
    });
  }

  it('is made again with the pipe, so that others still find the sidecar', async () => {
    const session = await station.session();
    await remove(session);
    await until(() => existsSync(station.sandbox.pipe), 'the pipe is there again');
    const client = await station.sandbox.connect('test', false);
    assert.equal(client.sidecar.pid, station.pid);
    assert.deepEqual(
      (await client.request('session.list', {})).sessions.map(({ sessionId }) => sessionId),
      [session],
    );
    client.dispose();
    await station.client.data('session.destroy', { session_id: session });
    await station.endCleanly();
  });
});
