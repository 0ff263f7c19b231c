import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { findRuntimes } from '../../client/client';
import { exitCodes } from '../../protocol/exit-codes';
import { LineClient } from '../helpers/line-client';
import { Sandbox, until } from '../helpers/sidecar';

describe('a single sidecar per runtime directory', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  it('lets exactly one of 20 that start at once win; the others leave with a named code', async () => {
    const programs = Array.from({ length: 20 }, () => sandbox.sidecar());
    await until(() => programs.filter(({ ended }) => ended).length === 19, 'all but one have left', 60_000);
    const [winner] = programs.filter(({ ended }) => !ended);
    for (const loser of programs.filter(({ ended }) => ended)) {
      assert.equal(await loser.end(), exitCodes.alreadyRunning);
      assert.match(loser.stderr, /already listening/);
    }
    const client = await sandbox.connect('test', false);
    assert.equal(client.sidecar.pid, winner?.pid);
    assert.deepEqual(
      findRuntimes(sandbox.runtimeDir).map(({ pid }) => pid),
      [winner?.pid],
    );
    assert.deepEqual(
      readdirSync(sandbox.runtimeDir).filter((name) => name.startsWith('sidecar.')),
      ['sidecar.sock'],
    );
  });

  it('gives 20 clients that connect or start at once the same sidecar', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, (_, n) => sandbox.connect(`client ${n}`)));
    assert.equal(new Set(clients.map(({ sidecar }) => sidecar.pid)).size, 1);
  });

  it('takes the place of one that was killed', async () => {
    const first = sandbox.sidecar();
    await until(() => findRuntimes(sandbox.runtimeDir).length === 1, 'it runs');
    await first.kill('SIGKILL');
    const client = await sandbox.connect();
    assert.notEqual(client.sidecar.pid, first.pid);
    assert.deepEqual(
      findRuntimes(sandbox.runtimeDir).map(({ pid }) => pid),
      [client.sidecar.pid],
    );
  });

  it('removes what others left that died while they tried, and only that', async () => {
    mkdirSync(sandbox.runtimeDir, { mode: 0o700 });
    const dead = sandbox.sidecar(['--version']);
    await dead.end();
    const [remains, lock, file] = [dead.pid.toString(36), '0lock', 'notes'].map(
      (suffix) => `${sandbox.pipe}.${suffix}`,
    ) as [string, string, string];
    // Killed, so that it cannot tidy up after itself.
    const script =
      'const s = require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))';
    for (const path of [remains, lock]) spawnSync(process.execPath, ['-e', script, path]);
    writeFileSync(file, 'precious');
    assert.ok(lstatSync(remains).isSocket() && lstatSync(lock).isSocket());
    await sandbox.connect();
    assert.deepEqual(
      readdirSync(sandbox.runtimeDir)
        .filter((name) => name.startsWith('sidecar.'))
        .sort(),
      ['sidecar.sock', 'sidecar.sock.notes'],
    );
  });

  it('lives beside the one that has the pipe when it has transports of its own', async () => {
    const client = await sandbox.connect();
    const { path } = await sandbox.socketSidecar();
    const lines = await LineClient.connect(path);
    assert.notEqual((await lines.data('system.ping')).pid, client.sidecar.pid);
    assert.equal(findRuntimes(sandbox.runtimeDir).length, 2);
    lines.dispose();
    assert.equal((await client.request('system.ping', {})).pid, client.sidecar.pid);
  });
});

describe('the path of a socket', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  it('is a socket that only its owner can use', async () => {
    const { path } = await sandbox.socketSidecar();
    const found = lstatSync(path);
    assert.ok(found.isSocket());
    assert.equal(found.mode & 0o777, 0o600);
  });

  it('is replaced when the socket there is dead, and removed at the end', async () => {
    const { program, path } = await sandbox.socketSidecar();
    await program.kill('SIGKILL');
    assert.ok(lstatSync(path).isSocket());
    const second = sandbox.sidecar(['--socket', path]);
    const client = await until(() => LineClient.connect(path).catch(() => undefined), 'the new one listens');
    assert.equal((await client.data('system.ping')).pid, second.pid);
    client.dispose();
    assert.equal(await second.kill('SIGTERM'), 0);
    assert.equal(lstatSync(path, { throwIfNoEntry: false }), undefined);
  });

  it('is refused and left alone when someone listens there', async () => {
    const { path } = await sandbox.socketSidecar();
    const { ino } = lstatSync(path);
    const second = sandbox.sidecar(['--socket', path]);
    assert.equal(await second.end(), exitCodes.alreadyRunning);
    assert.match(second.stderr, /already listening/);
    assert.equal(lstatSync(path).ino, ino);
    const client = await LineClient.connect(path);
    assert.equal((await client.request('system.ping')).ok, true);
    client.dispose();
  });

  it('is refused and left alone when a foreign program listens there', async () => {
    const path = join(sandbox.dir, 'foreign.sock');
    const foreign = net.createServer((socket) => socket.on('error', () => undefined).end('hello'));
    await new Promise<void>((resolve) => foreign.listen(path, resolve));
    const program = sandbox.sidecar(['--socket', path]);
    assert.equal(await program.end(), exitCodes.alreadyRunning);
    assert.ok(lstatSync(path).isSocket());
    await new Promise((resolve) => foreign.close(resolve));
  });

  it('is refused and left alone when a file, a directory or a link stands there', async () => {
    const file = join(sandbox.dir, 'file');
    const directory = join(sandbox.dir, 'directory');
    const link = join(sandbox.dir, 'link');
    writeFileSync(file, 'precious');
    mkdirSync(directory);
    symlinkSync(join(sandbox.dir, 'nowhere'), link);
    for (const path of [file, directory, link]) {
      const program = sandbox.sidecar(['--socket', path]);
      assert.equal(await program.end(), exitCodes.refused);
      assert.match(program.stderr, /is not a socket, so it was left alone/);
    }
    assert.equal(readFileSync(file, 'utf8'), 'precious');
    assert.ok(lstatSync(directory).isDirectory() && lstatSync(link).isSymbolicLink());
  });

  it('is made with its directory, for its owner alone', async () => {
    const path = join(sandbox.dir, 'new', 'deep', 'lines.sock');
    sandbox.sidecar(['--socket', path]);
    await until(() => lstatSync(path, { throwIfNoEntry: false }), 'the socket is there');
    assert.equal(lstatSync(join(path, '..')).mode & 0o777, 0o700);
  });

  it('is refused with a reason when it is too long', async () => {
    const program = sandbox.sidecar(['--socket', join(sandbox.dir, 'x'.repeat(120))]);
    assert.equal(await program.end(), exitCodes.refused);
    assert.match(program.stderr, /too long for a socket/);
  });
});
