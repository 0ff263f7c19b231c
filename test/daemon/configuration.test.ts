import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultLimits } from '../../protocol/limits';
import { type Configuration, configure } from '../../sidecar/daemon/configuration';
import { parseEnvFile } from '../../sidecar/daemon/env-file';
import { Refusal } from '../../sidecar/daemon/refusal';
import { Sandbox } from '../helpers/sidecar';

function configured(args: string[], env: NodeJS.ProcessEnv = {}): Configuration {
  const request = configure(args, { LIMPET_RUNTIME_DIR: '/run/x', LIMPET_STATE_DIR: '/state/x', ...env });
  assert.ok('run' in request);
  return request.run;
}

const refused = (args: string[], message: RegExp, env: NodeJS.ProcessEnv = {}) =>
  assert.throws(
    () => configured(args, env),
    (thrown) => thrown instanceof Refusal && thrown.exitCode === 64 && message.test(thrown.message),
  );

describe('the configuration', () => {
  it('without flags is a daemon on the pipe that leaves when nobody needs it', () => {
    assert.deepEqual(configured([], { PATH: '/bin' }), {
      stdio: false,
      stdin: false,
      socketPath: undefined,
      http: undefined,
      token: undefined,
      runtimeDir: '/run/x',
      stateDir: '/state/x',
      keepAliveMs: 1_800_000,
      handshakeMs: 60_000,
      logLevel: 'info',
      limits: { ...defaultLimits },
      shellEnv: { PATH: '/bin', LIMPET_RUNTIME_DIR: '/run/x', LIMPET_STATE_DIR: '/state/x' },
    });
  });

  it('stays for ever with a transport of its own, unless told', () => {
    assert.equal(configured(['--stdin']).keepAliveMs, undefined);
    assert.equal(configured(['--socket', '/s']).keepAliveMs, undefined);
    assert.equal(configured(['--socket', '/s', '--keep-alive', '5']).keepAliveMs, 5);
    assert.equal(configured([], { LIMPET_KEEP_ALIVE_MS: '7' }).keepAliveMs, 7);
  });

  it('takes flags first, then the environment, then the file', () => {
    const sandbox = new Sandbox();
    const file = join(sandbox.dir, 'settings.env');
    writeFileSync(
      file,
      'LIMPET_MAX_SESSIONS=1\nLIMPET_LOG_LEVEL=debug\nLIMPET_TOKEN="from file"\nLIMPET_HTTP=127.0.0.1:1\n',
    );
    const { limits, logLevel, token, http } = configured(['--env-file', file, '--max-sessions', '3'], {
      LIMPET_MAX_SESSIONS: '2',
      LIMPET_LOG_LEVEL: 'warn',
      LIMPET_TOKEN: '',
    });
    assert.deepEqual(
      { max: limits.maxSessions, logLevel, token, http },
      { max: 3, logLevel: 'warn', token: 'from file', http: { host: '127.0.0.1', port: 1 } },
    );
    return sandbox.dispose();
  });

  it('reads addresses, and refuses those that other machines reach', () => {
    assert.deepEqual(configured(['--http', '[::1]:80']).http, { host: '::1', port: 80 });
    assert.deepEqual(configured(['--http', 'localhost:0']).http, { host: 'localhost', port: 0 });
    assert.deepEqual(configured(['--http', '0.0.0.0:80', '--http-allow-remote']).http, { host: '0.0.0.0', port: 80 });
    for (const remote of ['0.0.0.0:80', '[::]:80', '192.168.0.1:80', 'example.org:80'])
      refused(['--http', remote], /other machines/);
    for (const wrong of ['80', ':80', 'localhost', 'localhost:', 'localhost:99999', 'http://localhost:1', '::1:80']) {
      refused(['--http', wrong], /HOST:PORT/);
    }
  });

  it('refuses what it does not understand, and says where', () => {
    refused(['--nonsense'], /--nonsense/);
    refused(['word'], /word/);
    refused(['--stdio', '--stdin'], /choose one/);
    refused(['--max-sessions', 'many'], /--max-sessions \(or LIMPET_MAX_SESSIONS\) must be a whole number/);
    refused(['--max-sessions', '0'], /at least 1/);
    refused(['--keep-alive', '-1'], /keep-alive/);
    refused(['--log-level', 'loud'], /one of trace/);
    refused(['--env-file', '/nonexistent'], /cannot be read/);
  });

  it('leaves its own settings out of what shells inherit, above all the token', () => {
    const { shellEnv } = configured([], {
      LIMPET_TOKEN: 'secret',
      LIMPET_HTTP: '127.0.0.1:1',
      LIMPET_MAX_SESSIONS: '4',
      ELECTRON_RUN_AS_NODE: '1',
      HOME: '/home/x',
      EMPTY: '',
    });
    assert.deepEqual(shellEnv, {
      LIMPET_RUNTIME_DIR: '/run/x',
      LIMPET_STATE_DIR: '/state/x',
      HOME: '/home/x',
      EMPTY: '',
    });
  });

  it('shows help and version', async () => {
    const sandbox = new Sandbox();
    try {
      const help = sandbox.sidecar(['--help']);
      assert.equal(await help.end(), 0);
      assert.match(help.stdout, /--socket PATH[\s\S]*--max-sessions N/);
      const version = sandbox.sidecar(['--version']);
      assert.equal(await version.end(), 0);
      assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
    } finally {
      await sandbox.dispose();
    }
  });
});

describe('an env file', () => {
  it('holds names and values, quoted or not, and comments', () => {
    const text = `# comment\nA=1\nexport B = two words # comment\r\nC='single # kept'\nD="double"\nE=\nnot a line\n1F=x\nG=a=b#c\n`;
    assert.deepEqual(parseEnvFile(text), { A: '1', B: 'two words', C: 'single # kept', D: 'double', G: 'a=b#c' });
  });
});
