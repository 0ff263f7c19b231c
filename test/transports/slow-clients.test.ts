import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { LineClient } from '../helpers/line-client';
import { type RunningProgram, rssOf, Sandbox, until } from '../helpers/sidecar';

/** How many sockets a process has open. */
function socketsOf(pid: number): number {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return 'closed since';
    }
  });
  return targets.filter((target) => target.startsWith('socket:')).length;
}

describe('clients that do not behave', () => {
  let sandbox: Sandbox;
  let program: RunningProgram;
  let path: string;
  let client: LineClient;
  let session_id: string;

  before(async () => {
    sandbox = new Sandbox();
    ({ program, path } = await sandbox.socketSidecar());
  });
  after(() => sandbox.dispose());
  beforeEach(async () => {
    client = await LineClient.connect(path);
    ({ session_id } = await client.data('session.create', { cwd: sandbox.work }));
  });
  afterEach(async () => {
    await client.data('session.destroy', { session_id });
    client.dispose();
  });

  const silentReader = async () => {
    const socket = net.connect(path);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.pause();
    return socket;
  };

  it('may stop reading a stream: it waits, memory stays, others get everything', async () => {
    const { command_id } = await client.data('exec.start', {
      session_id,
      command: 'head -c 100000000 /dev/zero | tr "\\0" x',
      background: true,
    });
    const before = rssOf(program.pid);
    const deaf = await silentReader();
    deaf.write(`${JSON.stringify({ id: 'deaf', method: 'exec.follow', params: { command_id } })}\n`);
    const reader = await LineClient.connect(path);
    const { stdout_bytes } = await reader.data('exec.follow', { command_id });
    const got = reader.lines.reduce((sum, { event, data }) => sum + (event === 'stdout' ? data.length : 0), 0);
    assert.deepEqual([got, stdout_bytes], [100_000_000, 100_000_000]);
    assert.ok(rssOf(program.pid) < before + 120e6, `${(rssOf(program.pid) - before) / 1e6} MB more`);
    deaf.destroy();
    reader.dispose();
  });

  it('goes on where it stopped once a slow reader reads again', async () => {
    const { command_id } = await client.data('exec.start', { session_id, command: 'seq 1 3000000', background: true });
    const slow = await silentReader();
    slow.write(`${JSON.stringify({ id: 'slow', method: 'exec.follow', params: { command_id } })}\n`);
    await client.data('exec.wait', { command_id });
    const reading = new LineClient(slow);
    slow.resume();
    assert.equal((await reading.answer('slow')).data.exit_code, 0);
    const text = reading.lines.map(({ event, data }) => (event === 'stdout' ? data : '')).join('');
    assert.equal(text.length, 22_888_896);
    assert.ok(text.endsWith('\n2999999\n3000000\n'));
    slow.destroy();
  });

  /** Prints 8 MB and ends. */
  const printMuch = async () => {
    const command = 'head -c 8000000 /dev/zero | tr "\\0" y';
    const { command_id } = await client.data('exec.start', { session_id, command, background: true });
    await client.data('exec.wait', { command_id, max_output_bytes: 10 });
    return command_id;
  };
  const sendAll = (socket: net.Socket, count: number, method: string, params: object) =>
    socket.write(Array.from({ length: count }, (_, id) => `${JSON.stringify({ id, method, params })}\n`).join(''));

  it('gets large answers one by one, and no more of them than it reads', async () => {
    const command_id = await printMuch();
    const before = rssOf(program.pid);
    const deaf = await silentReader();
    sendAll(deaf, 100, 'exec.output', { command_id, max_bytes: 8_000_000 });
    for (let n = 0; n < 50; n++) {
      await client.data('exec.run', { session_id, command: 'sleep 0.01' });
      assert.ok(rssOf(program.pid) < before + 200e6, `${(rssOf(program.pid) - before) / 1e6} MB more`);
    }
    const reading = new LineClient(deaf);
    deaf.resume();
    for (let id = 0; id < 3; id++) assert.equal((await reading.answer(id)).data.chunks.length > 0, true);
    deaf.destroy();
  });

  it('may send a line of 100 MB: it is refused, memory stays bounded, and others are served meanwhile', async () => {
    const peak = () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1]) * 1024;
    // From here on the kernel notes the peak anew.
    writeFileSync(`/proc/${program.pid}/clear_refs`, '5');
    const before = peak();
    const verbose = await LineClient.connect(path);
    const ran = join(sandbox.work, 'ran');
    const request = { id: 'long', method: 'exec.run', params: { session_id, command: `touch ${ran} #` } };
    const [begin = '', end = ''] = JSON.stringify(request).split(/(?<=#)/);
    const part = Buffer.alloc(1_000_000, 'x');
    verbose.raw(begin);
    for (let sent = 0; sent < 100; sent++) {
      if (!verbose.stream.write(part)) await once(verbose.stream, 'drain');
      if (sent % 20 === 0) assert.equal((await client.request('system.ping')).ok, true);
    }
    verbose.raw(`${end}\n`);
    assert.equal((await verbose.request('system.ping')).ok, true, 'the next line is read');
    assert.deepEqual(
      verbose.lines.filter(({ error }) => error !== undefined).map(({ id, error }) => [id, error?.code]),
      [[null, 'payload_too_large']],
    );
    assert.ok(!existsSync(ran), 'nothing was run');
    // A line may have 64 MiB, and is held until it has more; held to its end, it would take twice its 100 MB.
    assert.ok(peak() < before + 130e6, `${(peak() - before) / 1e6} MB more`);
    verbose.dispose();
  });

  it('is cut off when it leaves its answers unread', async () => {
    const command_id = await printMuch();
    const deaf = await silentReader();
    sendAll(deaf, 20, 'exec.wait', { command_id, max_output_bytes: 8_000_000 });
    await until(() => peerClosed(deaf), 'the deaf client is cut off', 25_000);
    assert.equal((await client.request('system.ping')).ok, true);
    deaf.destroy();
  });

  /** A paused socket does not notice; a write does. */
  async function peerClosed(socket: net.Socket): Promise<boolean> {
    return new Promise((resolve) => socket.write('\n', (error) => resolve(error !== undefined && error !== null)));
  }

  it('may vanish in the middle of a stream; the command goes on and another picks it up without a gap', async () => {
    const lost = await LineClient.connect(path);
    lost.send({
      id: 'x',
      method: 'exec.stream',
      params: { session_id, command: 'for i in $(seq 1 40); do echo line $i; sleep 0.02; done' },
    });
    const first = await lost.find(({ event }) => event === 'stdout');
    lost.dispose();
    const { commands } = await client.data('exec.list', { session_id });
    const { command_id } = commands.at(-1);
    const { exit_code } = await client.data('exec.follow', { command_id, from_seq: (first?.seq ?? 0) + 1 });
    const rest = client.lines.map(({ event, data }) => (event === 'stdout' ? data : '')).join('');
    assert.equal(exit_code, 0);
    assert.equal(first?.data + rest, Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join(''));
  });

  it('may come a thousand at once: all are answered, and what they took is given back', async () => {
    const crowded = new Sandbox();
    try {
      const { program: host, path: door } = await crowded.socketSidecar();
      const inside = await LineClient.connect(door);
      await inside.data('system.stats');
      const open = () => socketsOf(host.pid);
      const before = open();
      const crowd = await Promise.all(Array.from({ length: 1000 }, () => LineClient.connect(door)));
      const answers = await Promise.all(crowd.map((one) => one.request('system.ping')));
      assert.deepEqual([answers.length, answers.every(({ ok }) => ok === true)], [1000, true]);
      assert.ok(open() >= 1000, 'all were connected at the same time');
      for (const one of crowd) one.dispose();
      await until(() => open() <= before, 'every descriptor is given back');
      assert.equal((await inside.request('system.ping')).ok, true);
      inside.dispose();
    } finally {
      await crowded.dispose();
    }
  });

  it('may come in hundreds, and beyond the limit are turned away', async () => {
    const crowded = new Sandbox();
    try {
      const { path: door } = await crowded.socketSidecar(['--max-connections', '300']);
      const inside = await LineClient.connect(door);
      await inside.request('system.ping');
      const crowd = await Promise.all(Array.from({ length: 1000 }, () => LineClient.connect(door)));
      const answered = await Promise.all(
        crowd.map((one) =>
          one.request('system.ping').then(
            () => true,
            () => false,
          ),
        ),
      );
      assert.equal(answered.filter(Boolean).length, 299);
      assert.equal((await inside.request('system.ping')).ok, true);
      for (const one of crowd) one.dispose();
      await until(async () => {
        const late = await LineClient.connect(door);
        const ok = await late.request('system.ping').then(
          () => true,
          () => false,
        );
        late.dispose();
        return ok;
      }, 'there is room again');
      inside.dispose();
    } finally {
      await crowded.dispose();
    }
  });

  it('get all their own answers: 50 clients, 20 commands each', async function () {
    this.timeout(120_000);
    const work = Array.from({ length: 50 }, async (_, n) => {
      const one = await LineClient.connect(path);
      const { session_id } = await one.data('session.create', { cwd: sandbox.work });
      const said = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          one.data('exec.run', {
            session_id,
            command: `x="$x ${at}"; echo "${n}:$x"; echo "${n} ${at}" >&2; (exit ${at})`,
          }),
        ),
      );
      one.dispose();
      return said.map(({ stdout, stderr, exit_code }) => ({ stdout, stderr, exit_code }));
    });
    const all = await Promise.all(work);
    for (const [n, said] of all.entries()) {
      const expected = Array.from({ length: 20 }, (_, at) => ({
        stdout: `${n}: ${Array.from({ length: at + 1 }, (_, i) => i).join(' ')}\n`,
        stderr: `${n} ${at}\n`,
        exit_code: at,
      }));
      assert.deepEqual(said, expected);
    }
  });
});
