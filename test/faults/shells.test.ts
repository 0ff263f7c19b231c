import assert from 'node:assert/strict';
import { shells } from '../helpers/engine';
import { isAlive, statusOf } from '../helpers/processes';
import { until } from '../helpers/sidecar';
import { figure, Station, timed } from '../helpers/station';

for (const shell of shells) {
  describe(`A ${shell} that is struck`, () => {
    let station: Station;
    let session: string;

    before(async () => {
      station = await Station.open();
    });
    after(() => station.dispose());
    beforeEach(async () => {
      session = await station.session({ shell });
    });

    it('while idle, by SIGKILL: the next command runs in a fresh one with the same state', async () => {
      await station.run(session, 'cd /; x=kept; export y=seen; f() { echo "f $x"; }');
      const before = await station.shellOf(session);
      await station.saved(session, 'kept');
      process.kill(before, 'SIGKILL');
      await until(() => !isAlive(before), 'the shell is gone');
      const [{ stdout, outcome, exit_code, notes }, ms] = await timed(station.run(session, 'pwd; f; sh -c "echo $y"'));
      assert.deepEqual(
        { stdout, outcome, exit_code },
        { stdout: '/\nf kept\nseen\n', outcome: 'exited', exit_code: 0 },
      );
      assert.match(notes.join(), /was ended by SIGKILL; .* Restored: directory, variables, functions/);
      await station.assertNextCommandWorks(session);
      figure(`the first command after it took ${ms} ms`);
    });

    it('in the middle of a command, by SIGKILL: the command says so, what it printed is kept', async () => {
      await station.run(session, 'x=kept');
      await station.saved(session, 'kept');
      const pid = await station.shellOf(session);
      const command = 'printf out; printf err >&2; sleep 300';
      const id = await station.start(session, command);
      await station.client.data('exec.wait', { command_id: id, until: [{ output: 'err' }] });
      process.kill(pid, 'SIGKILL');
      const [result, ms] = await timed(station.client.data('exec.wait', { command_id: id }));
      const { outcome, exit_code, signal, stdout, stderr, held_open_by } = result;
      assert.deepEqual(
        { outcome, exit_code, signal, stdout, stderr },
        { outcome: 'shell_exited', exit_code: null, signal: 'SIGKILL', stdout: 'out', stderr: 'err' },
      );
      assert.deepEqual(
        held_open_by.map((holder: { command: string }) => holder.command),
        ['sleep 300'],
      );
      assert.equal((await station.run(session, 'echo $x')).stdout, 'kept\n');
      await station.assertNextCommandWorks(session);
      await station.client.data('session.destroy', { session_id: session });
      assert.deepEqual(
        held_open_by.map((holder: { pid: number }) => isAlive(holder.pid)),
        [false],
      );
      figure(`answered ${ms} ms after the kill, the child that was left is named, and gone with the session`);
    });

    for (const [way, params] of [
      ['a time-out', { timeout_ms: 300 }],
      ['a cancel', {}],
    ] as const) {
      it(`while idle, by SIGSTOP: ${way} gets out of the command that waits for it`, async () => {
        await station.run(session, 'x=kept');
        const pid = await station.shellOf(session);
        process.kill(pid, 'SIGSTOP');
        await until(() => statusOf(pid)?.state === 'T', 'it is stopped');
        const id = await station.start(session, 'echo never; sleep 300', params);
        const cancelled = 'timeout_ms' in params ? {} : station.client.data('exec.cancel', { command_id: id });
        const [{ outcome }, ms] = await timed(station.client.data('exec.wait', { command_id: id }));
        await cancelled;
        assert.equal(outcome, 'timeout_ms' in params ? 'timed_out' : 'cancelled');
        assert.equal((await station.run(session, 'echo $x')).stdout, 'kept\n');
        await station.assertNextCommandWorks(session);
        figure(`over after ${ms} ms, state kept`);
      });

      it(`in the middle of a command, by SIGSTOP: ${way} gets out of it`, async () => {
        await station.run(session, 'x=kept');
        const pid = await station.shellOf(session);
        const id = await station.start(session, 'echo ready; while :; do sleep 0.01; done', {
          ...('timeout_ms' in params ? { timeout_ms: 3000 } : {}),
        });
        const { met } = await station.client.data('exec.wait', { command_id: id, until: [{ output: 'ready' }] });
        assert.equal(met, 'output');
        process.kill(pid, 'SIGSTOP');
        await until(() => statusOf(pid)?.state === 'T', 'it is stopped');
        const cancelled = 'timeout_ms' in params ? {} : station.client.data('exec.cancel', { command_id: id });
        const [{ outcome, stdout }, ms] = await timed(station.client.data('exec.wait', { command_id: id }));
        await cancelled;
        assert.equal(outcome, 'timeout_ms' in params ? 'timed_out' : 'cancelled');
        assert.match(stdout, /^ready\n\n?$/);
        assert.equal((await station.run(session, 'echo $x')).stdout, 'kept\n');
        await station.assertNextCommandWorks(session);
        figure(`over after ${ms} ms, state kept`);
      });
    }

    it('by SIGSTOP and then SIGCONT: the command runs as if nothing had been', async () => {
      const pid = await station.shellOf(session);
      process.kill(pid, 'SIGSTOP');
      await until(() => statusOf(pid)?.state === 'T', 'it is stopped');
      const id = await station.start(session, 'echo late; (exit 5)');
      const { met } = await station.client.data('exec.wait', { command_id: id, timeout_ms: 300 });
      assert.equal(met, 'timeout');
      process.kill(pid, 'SIGCONT');
      const [result, ms] = await timed(station.client.data('exec.wait', { command_id: id }));
      const { outcome, exit_code, stdout } = result;
      assert.deepEqual({ outcome, exit_code, stdout }, { outcome: 'exited', exit_code: 5, stdout: 'late\n' });
      await station.assertNextCommandWorks(session);
      figure(`over ${ms} ms after it was continued`);
    });

    it('while stopped can be destroyed, with what it runs', async () => {
      const pid = await station.shellOf(session);
      const id = await station.start(session, 'echo ready; sleep 300');
      await station.client.data('exec.wait', { command_id: id, until: [{ output: 'ready' }] });
      process.kill(pid, 'SIGSTOP');
      const [, ms] = await timed(station.client.data('session.destroy', { session_id: session }));
      assert.ok(!isAlive(pid));
      figure(`destroyed in ${ms} ms`);
    });

    it('fifty times in a row, by SIGKILL in the middle of a command, is replaced each time', async () => {
      for (let n = 0; n < 50; n++) {
        const { outcome, signal, stdout } = await station.run(session, `n=${n}; echo ${n}; kill -9 $$`);
        assert.deepEqual({ outcome, signal, stdout }, { outcome: 'shell_exited', signal: 'SIGKILL', stdout: `${n}\n` });
      }
      const { restarts } = await station.client.data('session.info', { session_id: session });
      assert.equal(restarts, 50);
      await station.assertNextCommandWorks(session);
      figure('50 of 50 replaced');
    });
  });
}
