import assert from 'node:assert/strict';
import { LineClient } from '../helpers/line-client';
import { until } from '../helpers/sidecar';
import { figure, Station } from '../helpers/station';

describe('Ending with much to do', () => {
  let station: Station;
  beforeEach(async () => {
    station = await Station.open();
  });
  afterEach(() => station.dispose());

  it('on SIGTERM with 50 busy sessions leaves nothing, in bounded time', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 50 }, (_, n) => station.session({ shell: n % 5 === 0 ? 'zsh' : 'bash' })),
    );
    const busy = [
      "trap '' INT TERM; echo ready; while :; do sleep 1; done",
      'echo ready; while :; do echo x; sleep 0.02; done',
      'echo ready; setsid sleep 300 & sleep 301',
      'echo ready; sleep 302 | cat',
      'echo ready; sh -c \'trap "" INT TERM; while :; do sleep 0.1; done\'',
    ];
    const ids = await Promise.all(
      sessions.map(async (session, n) => {
        const id = await station.start(session, n < 2 ? 'echo ready; yes' : (busy[n % busy.length] ?? ''));
        await station.client.data('exec.wait', { command_id: id, until: [{ output: 'ready' }] });
        return id;
      }),
    );
    const waiting = ids.map((command_id) => station.client.request('exec.wait', { command_id }));
    const processes = station.descendants().length;
    assert.ok(processes >= 100, `${processes} processes run`);
    const took = await station.endCleanly();
    const answered = await Promise.allSettled(waiting);
    assert.equal(
      answered.filter(({ status }) => status === 'fulfilled').length,
      50,
      'everyone who waited was answered',
    );
    assert.ok(took < 10_000, `it took ${took} ms`);
    figure(
      `${processes} processes and 50 sessions gone ${Math.round(took)} ms after SIGTERM, exit code 0, no file left`,
    );
  });

  it('on SIGTERM while sessions are being created leaves none of them', async () => {
    for (let n = 0; n < 30; n++) {
      station.client.send({ id: `c${n}`, method: 'session.create', params: { cwd: station.sandbox.work } });
    }
    const watcher = await LineClient.connect(station.socketPath);
    await until(async () => (await watcher.data('session.list')).sessions.length > 3, 'some are there');
    const took = await station.endCleanly();
    const answers = station.client.lines.filter(({ id }) => String(id).startsWith('c'));
    const made = answers.filter(({ ok }) => ok).length;
    const refused = answers.filter(({ error }) => error?.code === 'shutting_down').length;
    assert.equal(made + refused, 30, 'each has an answer');
    watcher.dispose();
    figure(`${made} made, ${refused} refused, nothing left after ${Math.round(took)} ms`);
  });

  it('on SIGTERM while sessions are being destroyed leaves none of them', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => station.session()));
    for (const session of sessions) await station.start(session, 'setsid sleep 300 & sleep 301');
    for (const session_id of sessions) {
      station.client.send({ id: session_id, method: 'session.destroy', params: { session_id } });
    }
    figure(`nothing left after ${Math.round(await station.endCleanly())} ms`);
  });
});
