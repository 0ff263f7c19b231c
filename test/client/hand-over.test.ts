import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { productVersion } from '../../protocol/version';
import { sidecarOfVersion } from '../helpers/other-version';
import { parsePrefixLog } from '../helpers/prefix-log';
import { RunningProgram, Sandbox, until } from '../helpers/sidecar';

describe('a client that finds a sidecar of another version', () => {
  let sandbox: Sandbox;
  let found: RunningProgram;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(async () => {
    await found.kill('SIGTERM');
    await sandbox.dispose();
  });

  const startVersion = async (version: string) => {
    found = new RunningProgram(await sidecarOfVersion(version), [], sandbox.env, sandbox.work);
    await until(() => existsSync(sandbox.pipe), 'the sidecar listens');
    // One that is told to start none takes what there is.
    const client = await sandbox.connect('earlier', false);
    assert.deepEqual([client.sidecar.pid, client.sidecar.version], [found.pid, version]);
    return client;
  };

  for (const background of [false, true]) {
    const where = background ? 'background' : 'foreground';
    it(`takes the sessions over from an older one, and a command in the ${where} goes on without losing a byte`, async () => {
      const earlier = await startVersion('0.0.1');
      const { sessionId } = await earlier.request('session.create', { cwd: sandbox.work, name: 'mine' });
      await earlier.request('exec.run', { sessionId, command: 'kept=1' });
      const command = 'n=0; until [ -e go ]; do n=$((n + 1)); echo "$n"; echo "e$n" >&2; done; echo "end $n"; (exit 7)';
      const { commandId } = await earlier.request('exec.start', { sessionId, command, background });
      await earlier.request('exec.wait', { commandId, until: [{ output: '\n100\n' }], timeoutMs: 20_000 });

      const client = await sandbox.connect('later');
      assert.equal(client.sidecar.version, productVersion);
      assert.notEqual(client.sidecar.pid, found.pid);
      assert.equal(await found.end(), 0, 'the older one has ended in order');
      const { sessions } = await client.request('session.list', {});
      assert.deepEqual(
        sessions.map((session) => [session.sessionId, session.name, session.restarts]),
        [[sessionId, 'mine', 0]],
      );
      const before = await client.request('exec.wait', { commandId, timeoutMs: 1, maxOutputBytes: 100 });
      assert.equal(before.state, 'running');
      await until(async () => {
        const now = await client.request('exec.wait', { commandId, timeoutMs: 1, maxOutputBytes: 100 });
        return now.stdoutBytes > before.stdoutBytes;
      }, 'it prints to the new one');

      writeFileSync(join(sandbox.work, 'go'), '');
      const result = await client.request('exec.wait', { commandId, timeoutMs: 20_000 });
      assert.deepEqual([result.outcome, result.exitCode, result.notes], ['exited', 7, []]);
      const { stdout, stderr } = parsePrefixLog(readFileSync(result.logPath ?? ''));
      const last = Number(/end (\d+)\n$/.exec(stdout.toString())?.[1]);
      const numbers = Array.from({ length: last }, (_, index) => index + 1);
      assert.ok(stdout.toString() === [...numbers, `end ${last}\n`].join('\n'), 'all of stdout is there once');
      assert.ok(stderr.toString() === numbers.map((n) => `e${n}\n`).join(''), 'all of stderr is there once');
      assert.deepEqual([result.stdoutBytes, result.stderrBytes], [stdout.length, stderr.length]);
      const next = await client.request('exec.run', { sessionId, command: 'echo "$kept"' });
      assert.equal(next.stdout, '1\n');
    });
  }

  it('leaves a later one in place, and works with it', async () => {
    await startVersion('999.0.0');
    const client = await sandbox.connect('this');
    assert.deepEqual([client.sidecar.pid, client.sidecar.version], [found.pid, '999.0.0']);
    assert.equal((await client.request('system.ping', {})).pong, true);
  });
});
