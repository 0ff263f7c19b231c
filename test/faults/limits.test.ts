import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LineClient } from '../helpers/line-client';
import { childrenOf, isAlive, processesOf, statusOf } from '../helpers/processes';
import { programs, until } from '../helpers/sidecar';
import { figure, long, Station, skipBecause } from '../helpers/station';

/**
 * A user of its own, because the limit on processes counts all of a user's and does not bind root. Another run of the tests
 * on the same machine has another.
 */
const nobody = 50_000 + (process.pid % 10_000);
const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];

const limit = (pid: number, what: string, as: readonly string[] = []) => {
  const [program = '', ...args] = [...as, 'prlimit', '--pid', String(pid), what];
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
};
const keepersOf = (pid: number) =>
  childrenOf(pid).filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('sleep\0')).length;
const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

describe('A sidecar at its limits', () => {
  let station: Station;
  afterEach(() => station.dispose());

  it('of open files: refuses in words, keeps what it has, and goes on when there is room', async () => {
    station = await Station.open();
    const sessions = [await station.session(), await station.session({ shell: 'zsh' })];
    const [first = '', second = ''] = sessions;
    await station.assertNextCommandWorks(first);
    await station.assertNextCommandWorks(second);
    const before = descriptorsOf(station.pid);
    limit(station.pid, `--nofile=${before + 3}:20000`);
    const codes = new Map<string, number>();
    for (let n = 0; n < 12; n++) {
      const made = await station.client.request('session.create', { cwd: station.sandbox.work });
      const code = made.error?.code ?? 'made';
      codes.set(code, (codes.get(code) ?? 0) + 1);
      assert.notEqual(code, 'internal', station.errors().join());
      if (made.ok) sessions.push(made.data.session_id);
    }
    assert.ok((codes.get('overloaded') ?? 0) + (codes.get('shell_start_failed') ?? 0) > 0);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => station.ask(first, `echo ${n}; (exit ${n})`)),
    );
    for (const [n, { ok, data, error }] of answers.entries()) {
      if (ok) assert.deepEqual([data.exit_code, data.stdout], [n, `${n}\n`]);
      else assert.equal(error?.code, 'overloaded');
    }
    const ran = answers.filter(({ ok }) => ok).length;
    const doomed = await station.shellOf(second);
    await station.client.data('session.destroy', { session_id: second });
    assert.ok(!isAlive(doomed), 'a session can be destroyed without a descriptor to spare');
    sessions.splice(1, 1);
    limit(station.pid, '--nofile=20000:20000');
    for (const session of sessions) await station.assertNextCommandWorks(session);
    await station.assertNextCommandWorks(await station.session());
    for (const session_id of sessions.slice(1)) await station.client.data('session.destroy', { session_id });
    assert.deepEqual(station.errors(), []);
    // One for each of the two that are left, and one that is ready for the next.
    await until(() => keepersOf(station.pid) === 3, 'no keeper is left of sessions that were not made');
    await until(() => descriptorsOf(station.pid) <= before + 8, 'its descriptors are back');
    figure(
      `sessions asked for: ${JSON.stringify(Object.fromEntries(codes))}; ${ran} of 20 commands ran, the rest refused`,
    );
    await station.endCleanly();
  });

  it('of open files while clients come: lets them in again when there is room', async () => {
    station = await Station.open();
    const session = await station.session();
    await station.assertNextCommandWorks(session);
    limit(station.pid, `--nofile=${descriptorsOf(station.pid)}:20000`);
    const late = await Promise.all(Array.from({ length: 5 }, () => LineClient.connect(station.socketPath)));
    for (const client of late) client.send({ id: 'late', method: 'system.ping' });
    await station.assertNextCommandWorks(session);
    limit(station.pid, '--nofile=20000:20000');
    const thereIsRoom = performance.now();
    const fresh = await until(async () => {
      const client = await LineClient.connect(station.socketPath);
      const answer = await client.request('system.ping').catch(() => undefined);
      client.dispose();
      return answer?.ok === true;
    }, 'a new client is let in');
    assert.ok(fresh);
    const ms = Math.round(performance.now() - thereIsRoom);
    for (const client of late) client.dispose();
    await station.assertNextCommandWorks(session);
    figure(`a new client was let in ${ms} ms after there was room`);
  });

  it('of open files while output is looked for: answers or refuses, and lives', async () => {
    station = await Station.open();
    const session = await station.session();
    const printed = 'x'.repeat(40_000);
    const command_id = await station.start(session, `printf %s ${printed}`);
    await station.client.data('exec.wait', { command_id });
    const running = await station.start(session, 'read -r go; echo more; read -r go', { keep_stdin_open: true });
    const { pid } = station;
    const ask = async (method: string, params: { command_id: string; [name: string]: unknown }): Promise<string> => {
      const { ok, data, error } = await station.client.request(method, params);
      const isWhole = params.command_id !== command_id || data?.stdout === undefined || data.stdout === printed;
      assert.ok(!ok || isWhole, 'it is whole or refused');
      return ok ? 'answered' : (error?.code ?? '');
    };
    const looking = { command_id: running, until: [{ output: 'x(?=y)' }], timeout_ms: 60_000 };
    const waits = [ask('exec.wait', looking), ask('exec.wait', { ...looking, until: [{ output: 'never' }] })];
    await station.client.request('exec.output', { command_id: running, grep: 'a(?=b)' });
    const came = new Set<string>();
    for (let room = 6; room >= 0; room--) {
      limit(pid, `--nofile=${descriptorsOf(pid) + room}:20000`);
      for (const pattern of ['x+', 'x(?=y)']) {
        came.add(await ask('exec.output', { command_id, grep: pattern }));
        came.add(await ask('exec.wait', { command_id, until: [{ output: pattern }], timeout_ms: 1 }));
      }
      came.add(await ask('exec.wait', { command_id }));
    }
    came.add(await ask('exec.input', { command_id: running, data: '\n' }));
    await until(async () => {
      const { stdout_bytes } = await station.client.data('exec.wait', {
        ...looking,
        until: [{ exit: true }],
        timeout_ms: 1,
      });
      return stdout_bytes > 0;
    }, 'more is printed while there is no room to look at it');
    limit(pid, '--nofile=20000:20000');
    assert.equal(await ask('exec.wait', { command_id }), 'answered');
    await station.client.data('exec.cancel', { command_id: running });
    assert.deepEqual(await Promise.all(waits), ['overloaded', 'answered']);
    came.delete('answered');
    assert.deepEqual([...came], ['overloaded']);
    await station.assertNextCommandWorks(session);
    await station.endCleanly();
  });

  const openAsNobody = (processes: number) =>
    Station.open({
      prefix: (sandbox) => {
        // It must be able to read the program it is.
        chmodSync(dirname(programs().sidecar), 0o755);
        for (const path of [sandbox.dir, sandbox.work]) {
          chownSync(path, nobody, nobody);
          chmodSync(path, 0o755);
        }
        return [...asNobody, 'prlimit', `--nproc=${processes}`];
      },
    });

  it('of processes: refuses a session in words, answers commands exactly, and goes on when there is room', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can become another user, and the limit needs one');
    station = await openAsNobody(60);
    const session = await station.session();
    await station.assertNextCommandWorks(session);
    limit(station.pid, '--nproc=1:60', asNobody);
    const made = await station.client.request('session.create', { cwd: station.sandbox.work });
    const again = made.ok ? await station.client.request('session.create', { cwd: station.sandbox.work }) : made;
    assert.ok(['shell_start_failed', 'overloaded'].includes(again.error?.code ?? ''), JSON.stringify(again));
    const { outcome, exit_code, stdout } = await station.run(session, 'echo builtin; (exit 4)');
    // The shell has a limit of its own, so that its children are none of the sidecar's business.
    assert.deepEqual({ outcome, exit_code, stdout }, { outcome: 'exited', exit_code: 4, stdout: 'builtin\n' });
    limit(station.pid, '--nproc=60:60', asNobody);
    await station.assertNextCommandWorks(session);
    await station.assertNextCommandWorks(await station.session());
    assert.deepEqual(station.errors(), []);
    figure(`refused with ${again.error?.code}: ${again.error?.message}`);
    await station.endCleanly();
  });

  for (const way of ['cancel', 'destroy'] as const) {
    it(`with a fork bomb in a session: ${way} ends all of it, and it answers throughout`, async function () {
      this.timeout(120_000);
      if (process.getuid?.() !== 0) skipBecause(this, 'only root can become another user, and the bomb needs a limit');
      // Bounded twice: by the user's limit, and by its own depth.
      station = await openAsNobody(long ? 600 : 250);
      const session = await station.session();
      const bomb = 'b() { [ "$1" -gt 12 ] || { b $(($1 + 1)) & b $(($1 + 1)) & }; sleep 300; }; b 0';
      const id = await station.start(session, bomb);
      await until(() => station.descendants().length >= 150, 'it has grown', 30_000);
      let most = 0;
      const idle = await station.slowestIdleAnswer();
      const slowest = await station.slowestAnswerDuring(async () => {
        most = station.descendants().length;
        if (way === 'cancel') await station.client.data('exec.cancel', { command_id: id });
        else await station.client.data('session.destroy', { session_id: session });
        await until(() => station.descendants().length <= (way === 'cancel' ? 1 : 0), 'all of it is gone', 30_000);
      });
      // Those that nobody has collected yet still count for the limit.
      await until(() => processesOf(nobody).length < 50, 'the dead have been collected', 30_000);
      assert.ok(slowest < 5000 + 100 * idle, `an answer took ${slowest} ms; before, ${idle} ms`);
      if (way === 'cancel') await station.assertNextCommandWorks(session);
      await station.assertNextCommandWorks(await station.session());
      figure(
        `${most} processes gone, the slowest answer meanwhile took ${Math.round(slowest)} ms; before, ${Math.round(idle)} ms`,
      );
      await station.endCleanly();
    });
  }

  it('that is stopped for a while loses nothing: what was printed meanwhile is there afterwards', async () => {
    station = await Station.open();
    const session = await station.session();
    const [go, printed] = [join(station.sandbox.work, 'go'), join(station.sandbox.work, 'printed')];
    const print = (from: number, to: number) => `for i in $(seq ${from} ${to}); do echo line $i; done`;
    const waits = 'echo ready >&2; until [ -e go ]; do sleep 0.01; done';
    const id = await station.start(
      session,
      `${waits}; ${print(1, 2000)}; : > printed; ${print(2001, 20_000)}; (exit 9)`,
    );
    await station.client.data('exec.wait', { command_id: id, until: [{ output: 'ready' }] });
    process.kill(station.pid, 'SIGSTOP');
    await until(() => statusOf(station.pid)?.state === 'T', 'it is stopped');
    writeFileSync(go, '');
    await until(() => existsSync(printed), 'much is printed that it does not read');
    process.kill(station.pid, 'SIGCONT');
    const { exit_code, stdout } = await station.client.data('exec.wait', { command_id: id });
    const expected = Array.from({ length: 20_000 }, (_, n) => `line ${n + 1}\n`).join('');
    assert.deepEqual([exit_code, stdout === expected], [9, true]);
    await station.assertNextCommandWorks(session);
    figure(`${stdout.length} of ${expected.length} bytes after the stop`);
  });
});
