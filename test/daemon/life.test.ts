import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { findRuntimes } from '../../client/client';
import { descriptorPath } from '../../protocol/places';
import { LineClient } from '../helpers/line-client';
import { isAlive } from '../helpers/processes';
import { Sandbox, until } from '../helpers/sidecar';

describe('the life of a sidecar', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  const ping = (id = '1') => `${JSON.stringify({ id, method: 'system.ping', params: {} })}\n`;

  it('answers on standard input and ends with it', async () => {
    const program = sandbox.sidecar(['--stdin']).endInput(ping());
    assert.equal(await program.end(), 0);
    const { ok, data } = JSON.parse(program.stdout);
    assert.deepEqual({ ok, pid: data.pid }, { ok: true, pid: program.pid });
    assert.equal(program.stderr, '');
  });

  it('ends with its standard input when it speaks vscode-jsonrpc there', async () => {
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'system.ping', params: {} });
    const program = sandbox.sidecar(['--stdio']).endInput(`Content-Length: ${message.length}\r\n\r\n${message}`);
    assert.equal(await program.end(), 0);
    assert.match(program.stdout, /^Content-Length: \d+\r\n\r\n\{"jsonrpc":"2.0","id":1,"result":\{"pong":true/);
    assert.deepEqual([program.stderr, findRuntimes(sandbox.runtimeDir)], ['', []]);
  });

  it('ends when nobody reads its standard output any more', async () => {
    const program = sandbox.sidecar(['--stdin']).type(ping());
    await until(() => program.stdout !== '', 'it answers');
    program.child.stdout?.destroy();
    program.type(ping('2')).type(ping('3'));
    assert.equal(await program.end(), 0);
  });

  it('says nothing but answers on standard output', async () => {
    const program = sandbox.sidecar(['--stdin', '--log-level', 'trace']).endInput(`nonsense\n${ping()}`);
    assert.equal(await program.end(), 0);
    assert.equal(
      program.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).ok)
        .join(),
      'false,true',
    );
  });

  it('answers what is in flight at the end of input, and kills what takes longer than its grace', async () => {
    const program = sandbox.sidecar(['--stdin']);
    const send = (id: string, method: string, params: object) =>
      program.type(`${JSON.stringify({ id, method, params })}\n`);
    const answer = (id: string) =>
      until(
        () =>
          program.stdout
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line))
            .find((line) => line.id === id),
        `${id} is answered`,
      );
    send('s', 'session.create', { cwd: sandbox.work });
    const { session_id } = (await answer('s')).data;
    send('quick', 'exec.run', { session_id, command: 'sleep 0.3; echo done' });
    program.endInput(
      `${JSON.stringify({ id: 'slow', method: 'exec.run', params: { session_id, command: 'sleep 300' } })}\n`,
    );
    assert.equal((await answer('quick')).data.stdout, 'done\n');
    assert.equal(await program.end(), 0);
    assert.ok((await answer('slow')).ok !== undefined);
    assert.deepEqual(
      readdirSync(sandbox.runtimeDir).filter((name) => name.startsWith('sidecar')),
      [],
    );
  });

  it('ends everything on SIGTERM, busy sessions included, and leaves nothing behind', async () => {
    const { program, path } = await sandbox.socketSidecar();
    const client = await LineClient.connect(path);
    const pids: number[] = [];
    for (let n = 0; n < 4; n++) {
      const shell = n % 2 === 0 ? 'bash' : 'zsh';
      const { session_id, pid } = await client.data('session.create', { cwd: sandbox.work, shell });
      pids.push(pid);
      client.send({
        id: `busy ${n}`,
        method: 'exec.run',
        params: { session_id, command: `sleep 300 & echo $! >new; mv new pid${n}; trap '' INT TERM; sleep 301` },
      });
      const file = join(sandbox.work, `pid${n}`);
      await until(() => existsSync(file), 'the command runs');
      pids.push(Number(readFileSync(file, 'utf8')));
    }
    assert.deepEqual(pids.filter(isAlive), pids);
    assert.equal(await program.kill('SIGTERM'), 0);
    for (let n = 0; n < 4; n++) assert.ok((await client.answer(`busy ${n}`)).ok !== undefined);
    assert.deepEqual(pids.filter(isAlive), []);
    assert.deepEqual(
      [existsSync(path), existsSync(sandbox.pipe), existsSync(descriptorPath(sandbox.runtimeDir, program.pid))],
      [false, false, false],
    );
    client.dispose();
  });

  it('refuses requests while it ends, and ends at once when told twice', async () => {
    const { program, path } = await sandbox.socketSidecar();
    const client = await LineClient.connect(path);
    const { session_id } = await client.data('session.create', { cwd: sandbox.work });
    // Somebody who does not take the answer is waited for, so the end takes its time.
    const stalled = await LineClient.connect(path);
    stalled.stream.pause();
    stalled.send({
      id: 'busy',
      method: 'exec.stream',
      params: { session_id, command: 'yes | head -c 20000000; sleep 99' },
    });
    await until(
      async () => (await client.data('exec.list', {})).commands[0]?.stdout_bytes === 20_000_000,
      'there is more to tell than is taken',
    );
    program.child.kill('SIGTERM');
    const refused = await until(async () => {
      const answer = await client.request('system.ping');
      return answer.ok === false && answer;
    }, 'requests are refused');
    assert.equal(refused.error?.code, 'shutting_down');
    program.child.kill('SIGTERM');
    assert.equal(await program.end(), 143);
    assert.ok(!existsSync(path));
    client.dispose();
    stalled.dispose();
  });

  it('ends when asked by a request, which is still answered', async () => {
    const { program, path } = await sandbox.socketSidecar();
    const client = await LineClient.connect(path);
    assert.deepEqual(await client.request('system.shutdown'), { id: 'r1', ok: true, data: {} });
    assert.equal(await program.end(), 0);
    client.dispose();
  });

  it('answers those who follow its changes when it ends', async () => {
    const { program, path } = await sandbox.socketSidecar();
    const client = await LineClient.connect(path);
    client.send({ id: 'changes', method: 'events.subscribe', params: {} });
    await client.data('session.create', { cwd: sandbox.work });
    client.send({ id: 'end', method: 'system.shutdown', params: {} });
    const answer = await client.find(({ id, ok }) => id === 'changes' && ok !== undefined);
    assert.deepEqual(answer, { id: 'changes', ok: true, data: {} });
    assert.equal(await program.end(), 0);
    client.dispose();
  });

  it('leaves when it has had no client for the keep-alive time, and not before', async () => {
    const keepAliveMs = 2000;
    const program = sandbox.sidecar(['--keep-alive', String(keepAliveMs)]);
    const client = await until(() => sandbox.connect('test', false).catch(() => undefined), 'it answers');
    await new Promise((resolve) => setTimeout(resolve, keepAliveMs * 1.5));
    assert.equal((await client.request('system.ping', {})).pong, true);
    client.dispose();
    const left = Date.now();
    assert.equal(await program.end(), 0);
    assert.ok(Date.now() - left >= keepAliveMs * 0.9);
  });

  it('closes a connection that says nothing', async () => {
    const { path } = await sandbox.socketSidecar(['--handshake', '200']);
    const silent = [net.connect(path), net.connect(sandbox.pipe)];
    const talking = await LineClient.connect(path);
    await talking.request('system.ping');
    await Promise.all(silent.map((socket) => until(() => socket.resume().closed, 'it is closed')));
    assert.equal((await talking.request('system.ping')).ok, true);
    talking.dispose();
  });

  it('has a descriptor while it lives; those of dead ones are swept', async () => {
    const program = sandbox.sidecar();
    const [runtime] = await until(() => {
      const found = findRuntimes(sandbox.runtimeDir);
      return found.length > 0 && found;
    }, 'it is described');
    assert.deepEqual([runtime?.pid, runtime?.transports], [program.pid, [{ kind: 'pipe', path: sandbox.pipe }]]);
    await program.kill('SIGKILL');
    assert.ok(existsSync(descriptorPath(sandbox.runtimeDir, program.pid)));
    // The pid of a living process with another start time is not the one described.
    writeFileSync(descriptorPath(sandbox.runtimeDir, process.pid), JSON.stringify({ ...runtime, pid: process.pid }));
    assert.deepEqual(findRuntimes(sandbox.runtimeDir), []);
    assert.deepEqual(
      readdirSync(sandbox.runtimeDir).filter((name) => name.endsWith('.json')),
      [],
    );
  });

  it('keeps commands, environment values and the token out of its log and out of shells', async () => {
    const { program, path } = await sandbox.socketSidecar(['--http', '127.0.0.1:0', '--log-level', 'trace'], {
      LIMPET_TOKEN: 'top-secret-token',
      LIMPET_MAX_SESSIONS: '9',
    });
    const client = await LineClient.connect(path);
    const { session_id } = await client.data('session.create', {
      cwd: sandbox.work,
      env: { PASSWORD: 'secret-value-1' },
    });
    const { stdout } = await client.data('exec.run', {
      session_id,
      command: 'echo secret-text-2; env',
      env: { OTHER: 'secret-value-3' },
    });
    assert.match(stdout, /PASSWORD=secret-value-1/);
    assert.doesNotMatch(stdout, /top-secret-token|LIMPET_MAX_SESSIONS|LIMPET_TOKEN/);
    await client.request('exec.run', { session_id, command: { secret: 'secret-text-4' } });
    client.raw('{"secret-text-5\n');
    await client.answer(null);
    client.dispose();
    await program.kill('SIGTERM');
    assert.ok(sandbox.log.length > 0);
    assert.doesNotMatch(sandbox.log + program.stderr, /secret/);
  });
});
