import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import net from 'node:net';
import { LineClient } from '../helpers/line-client';
import { rssOf, until } from '../helpers/sidecar';
import { figure, long, Station, timed } from '../helpers/station';

describe('Clients at their worst', () => {
  let station: Station;
  let session: string;
  before(async () => {
    station = await Station.open();
    session = await station.session();
  });
  after(() => station.dispose());

  const raw = async () => {
    const socket = net.connect(station.socketPath);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const line = (id: unknown, method: string, params: object = {}) => `${JSON.stringify({ id, method, params })}\n`;
  const clientsGone = (before: number) =>
    until(() => openSockets(station.pid) <= before, 'the sidecar has let go of them');

  it('flood it with 10 000 requests at once: each is answered once, exactly or "overloaded"', async () => {
    const client = await LineClient.connect(station.socketPath);
    const ask = Array.from({ length: 10_000 }, (_, n) =>
      line(
        n,
        n % 2 === 0 ? 'system.ping' : 'exec.run',
        n % 2 === 0 ? {} : { session_id: session, command: `(exit ${n % 200})` },
      ),
    ).join('');
    const idle = await station.slowestIdleAnswer();
    const rssBefore = rssOf(station.pid);
    const answered = async () => {
      client.raw(ask);
      await until(() => client.lines.length >= 10_000 && client.lines.length, 'all is answered', 50_000);
    };
    let ms = 0;
    const slowest = await station.slowestAnswerDuring(async () => {
      [, ms] = await timed(answered());
    });
    const moreMegabytes = (rssOf(station.pid) - rssBefore) / 1e6;
    assert.ok(slowest < 10_000 + 100 * idle, `an answer took ${slowest} ms; before, ${idle} ms`);
    assert.ok(moreMegabytes < 400, `${moreMegabytes} MB more`);
    assert.equal(new Set(client.lines.map(({ id }) => id)).size, 10_000);
    const refused = client.lines.filter(({ ok }) => ok !== true);
    assert.deepEqual(
      [...new Set(refused.map(({ error }) => error?.code))].filter((code) => code !== 'overloaded'),
      [],
    );
    for (const { id, ok, data } of client.lines)
      if (ok && Number(id) % 2 === 1) assert.equal(data.exit_code, Number(id) % 200);
    client.dispose();
    await station.assertNextCommandWorks(session);
    figure(
      `10 000 answers in ${ms} ms, ${refused.length} of them "overloaded"; another client waited ${Math.round(slowest)} ms at most; ` +
        `${moreMegabytes.toFixed(0)} MB more`,
    );
  });

  it('vanish in the middle of everything: nothing of theirs stays, and their commands go on', async () => {
    const count = long ? 500 : 100;
    const before = openSockets(station.pid);
    const ids = await Promise.all(
      Array.from({ length: 5 }, () =>
        station.start(session, 'for i in $(seq 1 50); do echo $i; sleep 0.01; done', { background: true }),
      ),
    );
    for (let n = 0; n < count; n++) {
      const socket = await raw();
      const command_id = ids[n % ids.length];
      const asked = [
        line(1, 'exec.follow', { command_id }),
        line(1, 'exec.wait', { command_id, until: [{ output: 'never' }] }),
        line(1, 'events.subscribe'),
        line(1, 'session.create', { cwd: station.sandbox.work, name: 'orphaned' }),
        '{"id":1,"method":"exec.ru',
        line(1, 'exec.stream', { session_id: session, command: 'echo a; echo b' }),
      ][n % 6];
      socket.write(asked ?? '');
      if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      socket.destroy();
    }
    for (const command_id of ids) {
      const { exit_code, stdout } = await station.client.data('exec.wait', { command_id });
      assert.deepEqual([exit_code, stdout], [0, Array.from({ length: 50 }, (_, n) => `${n + 1}\n`).join('')]);
    }
    await clientsGone(before);
    const { sessions } = await station.client.data('session.list');
    for (const { session_id, name } of sessions) {
      if (name === 'orphaned') await station.client.data('session.destroy', { session_id });
    }
    await station.assertNextCommandWorks(session);
    figure(`${count} vanished, ${openSockets(station.pid)} connections open as before, 5 of 5 commands complete`);
  });

  it('never read: they cost a bounded amount of memory, and nobody else anything', async () => {
    const id = await station.start(session, 'head -c 50000000 /dev/zero | tr "\\0" x', { background: true });
    await station.client.data('exec.wait', { command_id: id, max_output_bytes: 10 });
    const idle = await station.slowestIdleAnswer();
    const before = rssOf(station.pid);
    const deaf = await Promise.all(Array.from({ length: 20 }, raw));
    for (const socket of deaf) {
      socket.pause();
      socket.write(line(1, 'exec.follow', { command_id: id }));
    }
    const slowest = await station.slowestAnswerDuring(async () => {
      for (let n = 0; n < 30; n++) await station.assertNextCommandWorks(session);
    });
    const more = (rssOf(station.pid) - before) / 1e6;
    assert.ok(more < 150, `${more} MB more`);
    assert.ok(slowest < 5000 + 100 * idle, `an answer took ${slowest} ms; before, ${idle} ms`);
    for (const socket of deaf) socket.destroy();
    figure(
      `20 deaf followers of 50 MB: ${more.toFixed(0)} MB more; another client waited ${Math.round(slowest)} ms at most`,
    );
  });
});

function openSockets(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}
