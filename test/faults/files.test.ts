import assert from 'node:assert/strict';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findRuntimes } from '../../client/client';
import { Sandbox, until } from '../helpers/sidecar';
import { figure, Station } from '../helpers/station';

describe('Files that others meddle with', () => {
  let station: Station;
  beforeEach(async () => {
    station = await Station.open();
  });
  afterEach(() => station.dispose());

  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}\n`).join('');
  const textOf = (chunks: { data: string }[]) => chunks.map(({ data }) => data).join('');

  /** A command that has printed the first half of its lines and waits for a word to print the second. */
  async function halfDone(session: string) {
    const command = 'seq -f "line %g" 1 5000; read word; seq -f "line %g" 5001 10000; (exit 6)';
    const command_id = await station.start(session, command, { keep_stdin_open: true });
    await station.client.data('exec.wait', { command_id, until: [{ output: 'line 5000\n' }] });
    const { log_path } = (await station.client.data('exec.list', { session_id: session })).commands.at(-1);
    const goOn = async () => {
      await station.client.data('exec.input', { command_id, data: 'go\n' });
      return station.client.data('exec.wait', { command_id });
    };
    return { command_id, log_path: log_path as string, goOn };
  }

  const meddlings: Record<string, (path: string) => void> = {
    deleted: (path) => rmSync(path),
    truncated: (path) => truncateSync(path, 0),
    'replaced by a link': (path) => {
      rmSync(path);
      writeFileSync(`${path}.target`, 'not yours\n');
      symlinkSync(`${path}.target`, path);
    },
    'replaced by a directory': (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  };

  for (const [what, meddle] of Object.entries(meddlings)) {
    it(`a log ${what} while its command prints: the result is exact, what is missing later is said`, async () => {
      const session = await station.session();
      const { command_id, log_path, goOn } = await halfDone(session);
      meddle(log_path);
      const { outcome, exit_code, stdout, stdout_bytes } = await goOn();
      const all = lines(1, 10_000);
      assert.deepEqual(
        { outcome, exit_code, isExact: stdout === all, stdout_bytes },
        { outcome: 'exited', exit_code: 6, isExact: true, stdout_bytes: all.length },
      );
      // Forgets what it had in memory.
      await station.run(session, 'true');
      const { chunks, dropped_bytes } = await station.client.data('exec.output', { command_id, stream: 'stdout' });
      const got = textOf(chunks);
      assert.equal(got.length + dropped_bytes, all.length, 'every byte is there or said to be missing');
      assert.ok(all.includes(got), 'nothing is made up');
      const later = await station.client.data('exec.wait', { command_id, max_output_bytes: 1_000_000 });
      assert.equal(later.exit_code, 6);
      assert.ok(later.stdout === all || later.truncated.stdout, 'a result that is not whole says so');
      assert.ok(!later.stdout.includes('not yours') && !later.stdout.includes('\0'));
      if (existsSync(`${log_path}.target`)) assert.equal(readFileSync(`${log_path}.target`, 'utf8'), 'not yours\n');
      await station.assertNextCommandWorks(session);
      assert.deepEqual(station.errors(), []);
      figure(`${got.length} of ${all.length} bytes can still be read, ${dropped_bytes} are said to be missing`);
    });
  }

  it('the state directory deleted while it runs: commands are answered exactly, and logged again', async () => {
    const session = await station.session();
    const { goOn } = await halfDone(session);
    // The sidecar may be making a file there at this very moment.
    rmSync(station.sandbox.stateDir, { recursive: true, maxRetries: 10 });
    const { exit_code, stdout } = await goOn();
    assert.deepEqual([exit_code, stdout === lines(1, 10_000)], [6, true]);
    await station.assertNextCommandWorks(session);
    const fresh = await station.session();
    await station.assertNextCommandWorks(fresh);
    const { notes, log_path } = await station.run(fresh, 'echo logged');
    assert.deepEqual(notes, []);
    await until(
      () => existsSync(log_path) && readFileSync(log_path, 'utf8') === '\x01\x01\x01logged\n',
      'it is logged',
    );
  });

  it("the sidecar's own log replaced by a link is not written through", async () => {
    const log = station.file('state', 'sidecar.log');
    const target = station.file('target');
    writeFileSync(target, 'not yours\n');
    rmSync(log, { force: true });
    symlinkSync(target, log);
    await station.assertNextCommandWorks(await station.session());
    await station.endCleanly();
    assert.equal(readFileSync(target, 'utf8'), 'not yours\n');
    figure(`the link is ${lstatSync(log).isSymbolicLink() ? 'left alone' : 'replaced by a file'}`);
  });
});

describe('State files that are not what they should be', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
    for (const path of [sandbox.runtimeDir, sandbox.stateDir]) mkdirSync(path, { mode: 0o700 });
  });
  afterEach(() => sandbox.dispose());

  const contents: Record<string, string | Buffer> = {
    empty: '',
    'half written': '{"name":"limpet","pid":12',
    'no JSON': 'nonsense\0\xff',
    'JSON of another kind': '[[[]]]',
    null: 'null',
    'full of wrong types': '{"name":5,"pid":"x","transports":7,"startTime":{}}',
    huge: Buffer.alloc(20_000_000, 0x5b),
  };

  it('keep nobody from finding or starting a sidecar', async () => {
    for (const [at, text] of Object.values(contents).entries()) {
      writeFileSync(join(sandbox.runtimeDir, `sidecar-${at + 4_000_000}.json`), text, { mode: 0o600 });
    }
    mkdirSync(join(sandbox.runtimeDir, 'sidecar-4999999.json'));
    assert.deepEqual(findRuntimes(sandbox.runtimeDir), []);
    const client = await sandbox.connect();
    assert.equal((await client.request('system.ping', {})).pong, true);
    figure(`${Object.keys(contents).length + 1} of them, and a sidecar was started in their midst`);
  });

  it('in session directories are swept once nobody can own them, and leave what is not ours alone', async () => {
    const root = join(sandbox.runtimeDir, 'sessions');
    mkdirSync(root, { mode: 0o700 });
    const old = new Date(Date.now() - 3_600_000);
    for (const [at, text] of Object.values(contents).entries()) {
      const directory = join(root, `s-broken0${at}`);
      mkdirSync(directory, { mode: 0o700 });
      for (const name of ['owner', 'journal', 'status', 'session.json'])
        writeFileSync(join(directory, name), text, { mode: 0o600 });
      utimesSync(directory, old, old);
    }
    writeFileSync(join(root, 's-afile00'), 'a file where a directory should be');
    symlinkSync(sandbox.work, join(root, 's-alink00'));
    writeFileSync(join(sandbox.work, 'precious'), 'precious');
    if (process.getuid?.() === 0) {
      mkdirSync(join(root, 's-foreign0'), { mode: 0o700 });
      writeFileSync(join(root, 's-foreign0', 'precious'), 'precious');
      chownSync(join(root, 's-foreign0'), 61234, 61234);
    }
    const client = await sandbox.connect();
    const { sessions } = await client.request('session.list', {});
    assert.deepEqual(sessions, []);
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    const { exitCode } = await client.request('exec.run', { sessionId, command: '(exit 3)' });
    assert.equal(exitCode, 3);
    assert.equal(readFileSync(join(sandbox.work, 'precious'), 'utf8'), 'precious');
    const left = readdirSync(root).filter((name) => /^s-(broken|afile|alink|foreign)/.test(name));
    const others = process.getuid?.() === 0 ? ['s-foreign0'] : [];
    assert.deepEqual(left.toSorted(), ['s-afile00', 's-alink00', ...others]);
    assert.equal(readFileSync(join(root, 's-afile00'), 'utf8'), 'a file where a directory should be');
    assert.equal(readlinkSync(join(root, 's-alink00')), sandbox.work);
    for (const name of others) assert.equal(readFileSync(join(root, name, 'precious'), 'utf8'), 'precious');
    figure(`${Object.keys(contents).length} broken directories swept; left alone: ${left.join(', ')}`);
  });

  it('among the logs keep it from nothing', async () => {
    const logs = join(sandbox.stateDir, 'sessions');
    mkdirSync(join(logs, 's-old'), { recursive: true, mode: 0o700 });
    symlinkSync('/nowhere/at/all', join(logs, 's-old', '1.log'));
    symlinkSync('/dev/zero', join(logs, 's-old', '2.log'));
    mkdirSync(join(logs, 's-old', '3.log'));
    writeFileSync(join(logs, 'a file'), '');
    writeFileSync(join(sandbox.stateDir, 'spare'), 'a file where a directory should be');
    writeFileSync(join(sandbox.stateDir, 'published'), 'a file where a directory should be');
    const client = await sandbox.connect();
    const { sessionId } = await client.request('session.create', { cwd: sandbox.work });
    const { exitCode, stdout } = await client.request('exec.run', { sessionId, command: 'echo a; (exit 3)' });
    assert.deepEqual([exitCode, stdout], [3, 'a\n']);
    figure('6 of them, and a command was answered exactly');
  });
});
