import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isAlive } from '../helpers/processes';
import { until } from '../helpers/sidecar';
import { figure, Station, timed } from '../helpers/station';

const fixture = join(__dirname, '../fixtures/jumping-clock.js');

describe('A wall clock that jumps by a day, forth and back', () => {
  let station: Station;
  before(async () => {
    station = await Station.open({ env: { NODE_OPTIONS: `--require=${fixture}` }, args: ['--keep-alive', '60000'] });
  });
  after(() => station.dispose());

  const jump = () => process.kill(station.pid, 'SIGUSR2');
  const started = async (session: string, command: string, params: object = {}) => {
    const id = await station.start(session, command, params);
    const { met } = await station.client.data('exec.wait', { command_id: id, until: [{ output: 'ready' }] });
    assert.equal(met, 'output');
    return id;
  };

  it('changes no duration, ends no time-out early and none late', async () => {
    const session = await station.session();
    const timeoutMs = 2000;
    for (let n = 0; n < 2; n++) {
      const id = await started(session, 'echo ready; sleep 300', { timeout_ms: timeoutMs });
      jump();
      const [{ outcome, duration_ms }, ms] = await timed(station.client.data('exec.wait', { command_id: id }));
      assert.equal(outcome, 'timed_out');
      assert.ok(duration_ms >= timeoutMs - 10 && duration_ms < 15_000, `it took ${duration_ms} ms`);
      figure(
        `a time-out of ${timeoutMs} ms across a jump: ${Math.round(duration_ms)} ms (${ms} ms waited after the jump)`,
      );
    }
    await station.assertNextCommandWorks(session);
  });

  it('ends an idle session neither early nor never, and no wait for silence', async () => {
    const idleMs = 1500;
    const lived: number[] = [];
    for (let n = 0; n < 2; n++) {
      const session = await station.session({ idle_timeout_ms: idleMs });
      await station.run(session, 'true');
      const idleSince = performance.now();
      jump();
      const isThere = async () =>
        (await station.client.data('session.list')).sessions.some(
          ({ session_id }: { session_id: string }) => session_id === session,
        );
      await until(async () => !(await isThere()), 'its time is over', 30_000);
      const ms = Math.round(performance.now() - idleSince);
      // The answer took its time to come here.
      assert.ok(ms >= idleMs - 500, `it was ended after ${ms} ms`);
      lived.push(ms);
    }
    const session = await station.session();
    const id = await started(session, 'echo ready; sleep 1; echo more; sleep 300');
    const silence = station.client.data('exec.wait', {
      command_id: id,
      until: [{ silence_ms: 600_000 }],
      timeout_ms: 1500,
    });
    jump();
    assert.equal((await silence).met, 'timeout');
    jump();
    await station.client.data('exec.cancel', { command_id: id });
    await station.assertNextCommandWorks(session);
    figure(`an idle time-out of ${idleMs} ms across a jump: ${lived.join(' and ')} ms; no silence was seen too early`);
  });

  it('keeps a command and its processes apart from others: a cancel still finds exactly its own', async () => {
    const session = await station.session();
    await station.run(session, 'sleep 300 >/dev/null 2>&1 & echo $!');
    const before = station.descendants().length;
    const id = await started(session, 'echo ready; sleep 301 | cat');
    jump();
    await station.client.data('exec.cancel', { command_id: id });
    const [, ms] = await timed(
      until(() => station.descendants().length === before, 'what the command started is gone, and nothing else'),
    );
    await station.assertNextCommandWorks(session);
    figure(`${before} processes of others are left, the last of its own was gone ${ms} ms after the cancel`);
  });

  it('keeps no state from being saved: a shell that is killed after a jump loses nothing', async () => {
    const session = await station.session();
    const saved: number[] = [];
    // Once forth and once back.
    for (let n = 0; n < 2; n++) {
      await station.run(session, `before=old${n}`);
      jump();
      await station.saved(session, `old${n}`);
      await station.run(session, `after=new${n}`);
      saved.push((await timed(station.saved(session, `new${n}`)))[1]);
      const pid = await station.shellOf(session);
      process.kill(pid, 'SIGKILL');
      await until(() => !isAlive(pid), 'the shell is gone');
      assert.equal((await station.run(session, 'echo $before $after')).stdout, `old${n} new${n}\n`);
    }
    figure(`the state was saved ${saved.join(' and ')} ms after the command`);
  });
});
