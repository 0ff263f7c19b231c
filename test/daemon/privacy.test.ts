import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox, until } from '../helpers/sidecar';

describe('what other users of the machine see', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  /**
   * What is in both directories, as "mode path". What a shell writes down itself has the mask of that shell, and the
   * directory around it.
   */
  function everything(): string[] {
    return [sandbox.runtimeDir, sandbox.stateDir]
      .flatMap((root) => [
        root,
        ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name)),
      ])
      .filter((path) => !/\/(snapshot\.(\w+\.)?(new|options)|status)$/.test(path))
      .map((path) => `${(lstatSync(path).mode & 0o777).toString(8)} ${path}`);
  }

  it('is no file and no directory, however open the user’s own files are', async () => {
    const mask = process.umask(0);
    try {
      const client = await sandbox.connect();
      const { sessionId } = await client.request('session.create', { cwd: sandbox.work, env: { SECRET: 'x' } });
      await client.request('exec.run', { sessionId, command: 'echo out; echo err >&2; cd /; f() { :; }' });
      await client.request('exec.run', { sessionId, command: 'exit 3' });
      const { commandId } = await client.request('exec.start', {
        sessionId,
        command: 'cat',
        background: true,
        keepStdinOpen: true,
      });
      await until(() => everything().some((line) => line.endsWith('sidecar.log')), 'the log is there');
      assert.deepEqual(
        everything().filter((line) => !/^[67]00 /.test(line)),
        [],
      );
      await client.request('exec.cancel', { commandId });
      await client.request('session.destroy', { sessionId });
      assert.deepEqual(
        everything().filter((line) => !/^[67]00 /.test(line)),
        [],
      );
    } finally {
      process.umask(mask);
    }
  });

  it('is neither the text of a command nor its variables, in the arguments of any process', async () => {
    const client = await sandbox.connect();
    const { sessionId } = await client.request('session.create', {
      cwd: sandbox.work,
      env: { A: 'secret-of-session' },
    });
    await client.request('exec.start', {
      sessionId,
      command: 'read x # secret-in-text',
      env: { B: 'secret-of-command' },
      keepStdinOpen: true,
    });
    await until(async () => {
      const { commands } = await client.request('exec.list', { sessionId });
      return commands.some(({ state }) => state === 'running');
    }, 'the command runs');
    const lines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        } catch {
          return '';
        }
      });
    assert.ok(lines.some((line) => line.includes(sandbox.runtimeDir)));
    assert.deepEqual(
      lines.filter((line) => /secret-(in-text|of-session|of-command)/.test(line)),
      [],
    );
  });
});
