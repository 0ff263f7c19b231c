import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findRuntimes, followCommand, SidecarClient, SidecarUnavailable, sidecarLogPath } from '../../client/client';
import { LimpetError } from '../../protocol/errors';
import { descriptorPath, pipePath } from '../../protocol/places';
import { programs, Sandbox, until } from '../helpers/sidecar';

describe('the client', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  it('starts a sidecar where there is none, and finds it the next time', async () => {
    const first = await sandbox.connect('first');
    const second = await sandbox.connect('second');
    assert.equal(first.sidecar.pid, second.sidecar.pid);
    assert.deepEqual(
      findRuntimes(sandbox.runtimeDir).map(({ pid }) => pid),
      [first.sidecar.pid],
    );
    assert.equal(sidecarLogPath(sandbox.env), join(sandbox.stateDir, 'sidecar.log'));
  });

  it('starts one that gives memory back, and commands do not notice', async () => {
    const seen = async (env: NodeJS.ProcessEnv) => {
      const client = await SidecarClient.connect({ clientName: 'test', sidecarPath: programs().sidecar, env });
      const { sessionId } = await client.request('session.create', {});
      const { stdout } = await client.request('exec.run', { sessionId, command: 'env | grep ^MALLOC' });
      const given = readFileSync(`/proc/${client.sidecar.pid}/environ`, 'utf8').split('\0');
      client.dispose();
      return [given.filter((entry) => entry.startsWith('MALLOC')).sort(), stdout];
    };
    const settings = ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=131072', 'MALLOC_TRIM_THRESHOLD_=131072'];
    assert.deepEqual(await seen(sandbox.env), [settings, '']);
    const other = new Sandbox();
    try {
      const own = await seen({ ...other.env, MALLOC_ARENA_MAX: '7' });
      assert.deepEqual(own, [['MALLOC_ARENA_MAX=7'], 'MALLOC_ARENA_MAX=7\n']);
    } finally {
      await other.dispose();
    }
  });

  it('starts none when told not to', async () => {
    await assert.rejects(sandbox.connect('test', false), (thrown) => thrown instanceof SidecarUnavailable);
    assert.deepEqual(findRuntimes(sandbox.runtimeDir), []);
  });

  it('says why the sidecar could not be started', async () => {
    const connect = (options: object) =>
      SidecarClient.connect({ clientName: 'test', sidecarPath: programs().sidecar, env: sandbox.env, ...options });
    await assert.rejects(
      connect({ env: { ...sandbox.env, LIMPET_MAX_SESSIONS: 'many' } }),
      /LIMPET_MAX_SESSIONS.*whole number/,
    );
    await assert.rejects(connect({ sidecarPath: join(sandbox.dir, 'missing.js') }), /could not be started/);
    await assert.rejects(connect({ execPath: join(sandbox.dir, 'missing') }), /could not be started: .*ENOENT/);
    const silent = join(sandbox.dir, 'silent.js');
    writeFileSync(silent, 'setTimeout(() => {}, 3000)');
    await assert.rejects(connect({ sidecarPath: silent, startTimeoutMs: 300 }), /did not answer within 300 ms/);
  });

  it('talks to nobody in a directory that others can write to', async () => {
    const asked: unknown[] = [];
    const foreign = net.createServer((socket) => asked.push(socket.destroy()));
    mkdirSync(sandbox.runtimeDir);
    chmodSync(sandbox.runtimeDir, 0o777);
    await new Promise<void>((resolve) => foreign.listen(sandbox.pipe, resolve));
    await assert.rejects(sandbox.connect(), /not a directory of yours alone/);
    assert.deepEqual(asked, []);
    await new Promise((resolve) => foreign.close(resolve));
    chmodSync(sandbox.runtimeDir, 0o700);
  });

  it('talks to nobody, and believes no descriptor, in a directory of someone else or behind a link', async () => {
    const asked: unknown[] = [];
    const foreign = net.createServer((socket) => asked.push(socket.destroy()));
    const elsewhere = join(sandbox.dir, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    await new Promise<void>((resolve) => foreign.listen(pipePath(elsewhere), resolve));
    const { pid } = process;
    const described = { name: 'limpet', version: '9', protocolVersion: 1, pid, processStart: null, startedAt: '' };
    const descriptor = { ...described, stateDir: '/', transports: [{ kind: 'pipe', path: pipePath(elsewhere) }] };
    writeFileSync(descriptorPath(elsewhere, pid), JSON.stringify(descriptor));
    assert.equal(findRuntimes(elsewhere).length, 1);

    symlinkSync(elsewhere, sandbox.runtimeDir);
    await assert.rejects(sandbox.connect(), /not a directory of yours alone/);
    assert.deepEqual(findRuntimes(sandbox.runtimeDir), []);
    if (process.getuid?.() === 0) {
      chownSync(elsewhere, 65_534, 65_534);
      const there = { clientName: 'test', sidecarPath: programs().sidecar, runtimeDir: elsewhere };
      await assert.rejects(SidecarClient.connect(there), /not a directory of yours alone/);
      assert.deepEqual(findRuntimes(elsewhere), []);
    }
    assert.deepEqual(asked, []);
    await new Promise((resolve) => foreign.close(resolve));
  });

  it('refuses a sidecar that speaks another version', async () => {
    mkdirSync(sandbox.runtimeDir, { mode: 0o700 });
    const other = net.createServer((socket) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32000, message: 'speaks protocol 99', data: { code: 'not_supported', protocolVersion: 99 } },
      });
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`));
    });
    await new Promise<void>((resolve) => other.listen(sandbox.pipe, resolve));
    await assert.rejects(
      sandbox.connect(),
      (thrown) =>
        thrown instanceof LimpetError && thrown.code === 'not_supported' && thrown.data?.protocolVersion === 99,
    );
    await new Promise((resolve) => other.close(resolve));
  });

  it('gives failures with their code and data', async () => {
    const client = await sandbox.connect();
    await assert.rejects(
      client.request('session.create', { shell: 'nosuch' }),
      (thrown) =>
        thrown instanceof LimpetError && thrown.code === 'shell_not_found' && Array.isArray(thrown.data?.available),
    );
    await assert.rejects(
      client.request('system.hello', { clientName: 'x', protocolVersion: 99 }),
      (thrown) => thrown instanceof LimpetError && thrown.code === 'not_supported',
    );
  });

  it('signs commands with its name', async () => {
    const client = await sandbox.connect('the editor');
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    await client.request('exec.run', { sessionId, command: 'true' });
    await client.request('exec.run', { sessionId, command: 'true', origin: 'an agent' });
    const { commands } = await client.request('exec.list', {});
    assert.deepEqual(
      commands.map(({ origin }) => origin),
      ['the editor', 'an agent'],
    );
  });

  it('passes on every event before the result, and pauses for a slow listener', async () => {
    const client = await sandbox.connect();
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    let text = '';
    let busy = false;
    const result = await client.stream(
      'exec.stream',
      { sessionId, command: 'seq 1 200000; echo end >&2', maxOutputBytes: 100 },
      (event) => {
        if (event.event === 'stdout') text += event.data;
        if (busy) return undefined;
        busy = true;
        return pause(5).then(() => {
          busy = false;
        });
      },
    );
    assert.equal(text.length, 1_288_895);
    assert.equal(result.stdoutBytes, 1_288_895);
    assert.ok(text.endsWith('\n200000\n'));
  });

  it('ends a wait or a stream when it is told to, and the command goes on', async () => {
    const client = await sandbox.connect();
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    const { commandId } = await client.request('exec.start', {
      sessionId,
      command: 'echo started; sleep 100',
      background: true,
    });
    const abort = new AbortController();
    const seen: string[] = [];
    const following = client.stream('exec.follow', { commandId }, (event) => void seen.push(event.event), {
      signal: abort.signal,
    });
    const waiting = client.request('exec.wait', { commandId }, { signal: abort.signal });
    await until(() => seen.length > 0, 'output is seen');
    abort.abort();
    const ended = (thrown: unknown) => thrown instanceof LimpetError && /the command goes on/.test(thrown.message);
    await assert.rejects(following, ended);
    await assert.rejects(waiting, ended);
    const { commands } = await client.request('exec.list', { runningOnly: true });
    assert.deepEqual(
      commands.map((command) => command.commandId),
      [commandId],
    );
    await assert.rejects(client.request('exec.wait', { commandId }, { signal: AbortSignal.abort() }), ended);
  });

  it('tells every subscriber what changes', async () => {
    const [client, watcher] = [await sandbox.connect(), await sandbox.connect('watcher')];
    const abort = new AbortController();
    const seen: string[] = [];
    const watching = watcher.stream('events.subscribe', {}, (event) => void seen.push(event.event), {
      signal: abort.signal,
    });
    await watcher.request('system.ping', {});
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    await client.request('exec.run', { sessionId, command: 'true' });
    await client.request('session.destroy', { sessionId });
    await until(() => seen.includes('session_gone'), 'the end is told');
    assert.ok(seen.includes('session') && seen.includes('command'));
    abort.abort();
    assert.deepEqual(await watching, {});
  });

  it('rejects what is in flight when the sidecar dies, tells its listeners once, and can connect again', async () => {
    const client = await sandbox.connect();
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    let closed = 0;
    client.onClose(() => closed++);
    const flying = client.request('exec.run', { sessionId, command: 'sleep 100' });
    const rejected = assert.rejects(
      flying,
      (thrown) => thrown instanceof LimpetError && /connection .* lost/.test(thrown.message),
    );
    await until(
      async () => (await client.request('exec.list', { runningOnly: true })).commands.length === 1,
      'it runs',
    );
    process.kill(client.sidecar.pid, 'SIGKILL');
    await rejected;
    client.dispose();
    client.dispose();
    assert.equal(closed, 1);
    await assert.rejects(client.request('system.ping', {}), /lost/);
    const again = await sandbox.connect();
    assert.notEqual(again.sidecar.pid, client.sidecar.pid);
  });

  it('follows a command across lost connections without gap or duplicate', async () => {
    const owner = await sandbox.connect();
    const { sessionId } = await owner.request('session.create', { cwd: sandbox.work });
    const { commandId } = await owner.request('exec.start', {
      sessionId,
      command: 'for i in $(seq 1 60); do echo line $i; sleep 0.02; done',
      background: true,
    });
    let text = '';
    let connections = 0;
    const connect = async () => {
      const client = await sandbox.connect(`follower ${++connections}`);
      return client;
    };
    let current: SidecarClient | undefined;
    const result = await followCommand(
      async () => {
        current = await connect();
        return current;
      },
      {
        commandId,
        onEvent: (event) => {
          assert.ok(event.event !== 'gap');
          text += event.data;
          if (connections < 4 && text.length > connections * 100) current?.dispose();
        },
      },
    );
    assert.equal(connections, 4);
    assert.equal(result.exitCode, 0);
    assert.equal(text, Array.from({ length: 60 }, (_, n) => `line ${n + 1}\n`).join(''));
  });
});
