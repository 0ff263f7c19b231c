import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningProgram, Sandbox, until } from '../helpers/sidecar';

describe('the limpet command', () => {
  let sandbox: Sandbox;
  before(() => {
    sandbox = new Sandbox();
  });
  after(() => sandbox.dispose());

  interface Said {
    code: number | string;
    out: string;
    err: string;
  }

  async function said(program: RunningProgram): Promise<Said> {
    const code = await program.end();
    return { code, out: program.stdout, err: program.stderr };
  }
  const limpet = (...args: string[]) => said(sandbox.limpet(args).endInput());
  const json = async (name: string, ...args: string[]) => {
    const { code, out, err } = await limpet(name, '--json', ...args);
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };

  it('runs a command and passes on both streams and the exit code', async () => {
    assert.deepEqual(await limpet('run', '--', 'echo out; echo err >&2; (exit 7)'), {
      code: 7,
      out: 'out\n',
      err: 'err\n',
    });
  });

  it('keeps state between runs, in the session of that name', async () => {
    await limpet('run', '-s', 'one', '--', 'cd /; x=kept');
    assert.deepEqual(await limpet('run', '-s', 'one', 'pwd; echo "$x"'), { code: 0, out: '/\nkept\n', err: '' });
    assert.deepEqual(await limpet('run', '-s', 'two', 'pwd; echo "[$x]"'), {
      code: 0,
      out: `${sandbox.work}\n[]\n`,
      err: '',
    });
  });

  it('takes one argument as shell text and several as words', async () => {
    assert.equal((await limpet('run', 'echo $((1+1)) "a  b"')).out, '2 a  b\n');
    assert.equal(
      (await limpet('run', '--', 'printf', '[%s]', '$HOME', "it's", 'a  b', '', '*')).out,
      `[$HOME][it's][a  b][][*]`,
    );
    assert.equal((await limpet('run', 'printf', '%s', '-s', '--json')).out, '-s--json');
  });

  it('passes bytes through unchanged', async () => {
    const program = sandbox.limpet(['run', '--', "printf '\\377\\000\\n'; head -c 3000000 /dev/zero"]);
    const parts: Buffer[] = [];
    program.child.stdout?.on('data', (data: Buffer) => parts.push(data));
    assert.equal(await program.end(), 0);
    const bytes = Buffer.concat(parts);
    assert.equal(bytes.length, 3_000_003);
    assert.deepEqual([...bytes.subarray(0, 3)], [255, 0, 10]);
  });

  it('says what is wrong in its own words', async () => {
    const unknown = await limpet('logs', 's-00000000:1');
    assert.deepEqual(
      [unknown.code, unknown.err],
      [1, 'limpet: There is no command "s-00000000:1". "limpet ps --all" shows the ones that are known.\n'],
    );
    await limpet('session', 'create', 'quiet');
    const nothing = await limpet('stop', '-s', 'quiet');
    assert.equal(nothing.code, 1);
    assert.match(nothing.err, /^limpet: Nothing runs in session "s-[0-9a-f]{8}" now\.\n$/);
  });

  it('passes on bytes that are no text', async () => {
    const bytes = Buffer.from([0, 0xff, 0xfe, 0x0a, 0xc3]);
    const ran = sandbox.limpet(['run', '-i', 'od', '-An', '-tx1']);
    ran.child.stdin?.end(bytes);
    assert.equal((await said(ran)).out, ' 00 ff fe 0a c3\n');
    const { out: id } = await limpet('start', '--keep-stdin', '--', 'od -An -tx1');
    const typed = sandbox.limpet(['input', id.trim()]);
    typed.child.stdin?.end(bytes);
    assert.equal((await said(typed)).code, 0);
    await limpet('input', '--eof', id.trim());
    await limpet('wait', id.trim());
    assert.equal((await limpet('logs', id.trim())).out, ' 00 ff fe 0a c3\n');
  });

  it('passes on standard input, variables, a directory and a timeout', async () => {
    assert.equal((await said(sandbox.limpet(['run', '-i', 'tr', 'a-z', 'A-Z']).endInput('shout'))).out, 'SHOUT');
    assert.equal((await limpet('run', '-e', 'A=1', '-e', 'LANG', '-C', '/usr', '--', 'echo $A; pwd')).out, '1\n/usr\n');
    assert.deepEqual(await limpet('run', '--timeout', '300ms', '--', 'echo before; sleep 60'), {
      code: 124,
      out: 'before\n',
      err: '',
    });
  });

  it('prints the whole result as JSON', async () => {
    const { stdout, exit_code, outcome, command } = await json('run', '--', 'echo hi');
    assert.deepEqual(
      { stdout, exit_code, outcome, command },
      { stdout: 'hi\n', exit_code: 0, outcome: 'exited', command: 'echo hi' },
    );
  });

  it('ends the command on Ctrl-C and keeps the session', async () => {
    const program = sandbox.limpet(['run', '-s', 'interrupted', '--', 'y=still; echo ready; sleep 100']);
    await until(() => program.stdout === 'ready\n', 'the command runs');
    program.child.kill('SIGINT');
    assert.equal(await program.end(), 130);
    assert.equal((await limpet('run', '-s', 'interrupted', 'echo $y')).out, 'still\n');
  });

  it('leaves at once on a second Ctrl-C', async () => {
    const program = sandbox.limpet([
      'run',
      '-s',
      'stubborn',
      '--',
      `trap '' INT TERM; echo ready; while :; do sleep 0.1; done`,
    ]);
    await until(() => program.stdout === 'ready\n', 'the command runs');
    program.child.kill('SIGINT');
    program.child.kill('SIGTERM');
    assert.equal(await program.end(), 130);
    await limpet('session', 'destroy', 'stubborn');
  });

  it('ends the command when nobody reads its output any more', async () => {
    const program = sandbox.limpet(['run', '-s', 'piped', '--', 'yes']);
    await until(() => program.stdout.length > 0, 'output comes');
    program.child.stdout?.destroy();
    assert.equal(await program.end(), 141);
    assert.deepEqual((await json('ps', '-s', 'piped')).commands, []);
  });

  it('starts, lists, shows, feeds, awaits and stops background commands', async () => {
    const { out } = await limpet(
      'start',
      '--keep-stdin',
      '--',
      'echo first; echo oops >&2; while read x; do echo "got $x"; done; exit 5',
    );
    const id = out.trim();
    assert.equal((await limpet('wait', '--for-output', 'first', '-t', '10s', id)).out, 'output\n');
    assert.match((await limpet('ps')).out, new RegExp(`${id} .* running .* echo first`));
    assert.equal((await limpet('input', id, 'some', 'words')).code, 0);
    assert.equal((await limpet('wait', '--for-output', 'got some words', '-t', '10s', id)).code, 0);
    assert.deepEqual(await limpet('logs', id), { code: 0, out: 'first\ngot some words\n', err: 'oops\n' });
    assert.deepEqual(await limpet('logs', '--stderr', id), { code: 0, out: '', err: 'oops\n' });
    assert.equal((await limpet('logs', '--tail', '1', '--stdout', id)).out, 'got some words\n');
    assert.equal((await limpet('logs', '--grep', 'some', id)).out, 'got some words\n');
    assert.deepEqual(await limpet('wait', '--for-output', 'never', '-t', '200ms', id), {
      code: 124,
      out: 'timeout\n',
      err: '',
    });
    const following = sandbox.limpet(['logs', '-f', id]);
    await until(() => following.stdout.includes('some words'), 'it follows');
    await limpet('input', '--eof', id);
    assert.deepEqual(await said(following), { code: 5, out: 'first\ngot some words\n', err: 'oops\n' });
    assert.deepEqual(await limpet('wait', '--exit', id), { code: 5, out: 'exit\n', err: '' });
    assert.match((await limpet('ps', '--all')).out, new RegExp(`${id} .* exit 5 `));
    const quick = (await limpet('start', '--', 'sleep 0.3; echo late; echo oops >&2')).out.trim();
    const pieces = (await limpet('logs', '-f', '--json', quick)).out.trim().split('\n');
    assert.deepEqual(
      pieces.map((line) => JSON.parse(line)).map(({ stream, data }) => [stream, data]),
      [
        ['stdout', 'late\n'],
        ['stderr', 'oops\n'],
      ],
    );
    const endless = (await limpet('start', '--', 'sleep 1000')).out.trim();
    assert.equal((await limpet('stop', endless)).out, `${endless} cancelled\n`);
    assert.deepEqual((await json('ps')).commands, []);
  });

  it('manages sessions by name or id', async () => {
    const created = (await limpet('session', 'create', 'mine', '--cwd', '/usr', '-e', 'V=1')).out.trim();
    assert.match(created, /^s-[0-9a-f]{8}$/);
    const info = await json('session', 'info', 'mine');
    assert.deepEqual([info.session_id, info.cwd, info.env_keys], [created, '/usr', ['V']]);
    assert.equal((await limpet('session', 'rename', created, 'yours')).code, 0);
    assert.match((await limpet('session', 'list')).out, new RegExp(`${created} +yours +bash +idle`));
    assert.equal((await limpet('session', 'destroy', 'yours')).out, `${created}\n`);
    const gone = await limpet('session', 'info', 'yours');
    assert.equal(gone.code, 1);
    assert.match(gone.err, /^limpet: There is no session "yours"/);
  });

  it('reports failures as JSON too', async () => {
    const { code, out, err } = await limpet('session', 'info', 'nobody', '--json');
    assert.deepEqual([code, JSON.parse(out).error.code], [1, 'session_not_found']);
    assert.match(err, /^limpet: /);
  });

  it('says what it found, and what is running', async () => {
    const doctor = await limpet('doctor');
    assert.equal(doctor.code, 0, doctor.out);
    assert.match(doctor.out, /ok {3}shells +bash 5/);
    const { runtimes } = await json('runtimes');
    assert.deepEqual(
      runtimes.map(({ transports }: { transports: object[] }) => transports),
      [[{ kind: 'pipe', path: sandbox.pipe }]],
    );
    assert.match((await limpet('stats')).out, /commands {2}\d+ started/);
    assert.ok((await json('stats')).sessions.total > 0);
  });

  it('writes no colours where there is no terminal', async () => {
    for (const args of [['ps'], ['session', 'list'], ['doctor'], ['stats']])
      assert.ok(!(await limpet(...args)).out.includes('\u001b'));
  });

  it('explains itself, and wrong usage', async () => {
    const overview = await limpet('--help');
    assert.equal(overview.code, 0);
    const names = [
      'run',
      'start',
      'ps',
      'logs',
      'wait',
      'input',
      'stop',
      'session',
      'stats',
      'doctor',
      'serve',
      'runtimes',
    ];
    await Promise.all(
      names.map(async (name) => {
        assert.match(overview.out, new RegExp(`^ {2}${name} `, 'm'));
        const help = await limpet(name, '--help');
        assert.equal(help.code, 0);
        assert.match(help.out, /^Usage: /);
      }),
    );
    assert.match((await limpet('--version')).out, /^\d+\.\d+\.\d+\n$/);
    for (const args of [
      ['nosuch'],
      ['run'],
      ['run', '--nosuch', 'x'],
      ['run', '-t', 'soon', 'x'],
      ['logs'],
      ['stop', '--signal', 'NOPE', 'x'],
      ['session'],
      ['wait', '--for-port', 'x', 'id'],
    ]) {
      const wrong = await limpet(...args);
      assert.equal(wrong.code, 64, args.join(' '));
      assert.match(wrong.err, /^limpet: .* See --help\.\n$/);
    }
  });

  it('serves in the foreground with the options it is given', async () => {
    const path = join(sandbox.dir, 'served.sock');
    const program = sandbox.limpet(['serve', '--socket', path]);
    await until(() => existsSync(path), 'it listens');
    program.child.kill('SIGTERM');
    assert.equal(await program.end(), 0);
    assert.ok(!existsSync(path));
  });

  it('reads a script from a file it was given as words', async () => {
    writeFileSync(join(sandbox.work, 'a script.sh'), 'echo "$1"');
    assert.equal((await limpet('run', '-C', sandbox.work, '--', 'sh', './a script.sh', 'x y')).out, 'x y\n');
  });

  it('ends the sidecar when asked', async () => {
    const other = new Sandbox();
    try {
      await said(other.limpet(['run', 'true']).endInput());
      assert.equal((await said(other.limpet(['shutdown']))).code, 0);
      assert.deepEqual(JSON.parse((await said(other.limpet(['runtimes', '--json']))).out), { runtimes: [] });
    } finally {
      await other.dispose();
    }
  });
});
