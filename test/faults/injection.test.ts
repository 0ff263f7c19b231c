import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from '../helpers/sidecar';
import { figure, long, Station, skipBecause } from '../helpers/station';

/** Why the system's calls cannot be made to fail here, if so. */
function whyNoStrace(): string | undefined {
  const { status, stderr, error } = spawnSync('strace', ['-e', 'inject=getuid:error=EIO', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? undefined : `strace may not trace here (${stderr.trim()})`;
}

/** Makes system calls of a process's main thread fail, until it is told to stop. */
class Injection {
  private constructor(
    private readonly strace: ChildProcess,
    private readonly report: string,
  ) {}

  /** Of calls on the files named, or on any if none is. */
  static async begin(station: Station, injected: string, paths: readonly string[]): Promise<Injection> {
    const report = station.file(`strace-${injected.replace(/\W+/g, '-')}`);
    const calls = injected.slice(0, injected.indexOf(':'));
    const args = ['-p', String(station.pid), '-e', `trace=${calls}`, '-e', `inject=${injected}`, '-o', report];
    const strace = spawn('strace', [...args, ...paths.flatMap((path) => ['-P', path])], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    strace.stderr?.on('data', (data) => {
      said += data;
    });
    await until(() => said.includes('attached') || strace.exitCode !== null, 'strace is attached');
    assert.equal(strace.exitCode, null, said);
    return new Injection(strace, report);
  }

  /** Ends it and counts the calls that were made to fail. */
  async end(): Promise<number> {
    if (this.strace.exitCode === null) {
      this.strace.kill('SIGINT');
      await once(this.strace, 'close');
    }
    return readFileSync(this.report, 'utf8').split('(INJECTED)').length - 1;
  }
}

type Target = 'pipes' | 'files' | 'all';

/** `pipes` are what a session and its shell talk through, `files` a command's text and log. */
const injections: [what: string, injected: string, target: Target][] = [
  ['EINTR on every 3rd read of a pipe', 'read:error=EINTR:when=3+3', 'pipes'],
  ['EIO on every 7th read of a pipe', 'read:error=EIO:when=7+7', 'pipes'],
  ['EINTR on every 3rd write to a pipe', 'write:error=EINTR:when=3+3', 'pipes'],
  ['EIO on every 5th write to a pipe', 'write:error=EIO:when=5+5', 'pipes'],
  ['EINTR on every 3rd write to a file', 'write,pwrite64:error=EINTR:when=3+3', 'files'],
  ['EIO on every 3rd write to a file', 'write,pwrite64:error=EIO:when=3+3', 'files'],
  ['ENOSPC on every 3rd write to a file', 'write,pwrite64:error=ENOSPC:when=3+3', 'files'],
  ['EINTR on every 3rd open', 'openat:error=EINTR:when=3+3', 'all'],
  ['EIO on every 4th open', 'openat:error=EIO:when=4+4', 'all'],
  ['ENOSPC on every 3rd open', 'openat:error=ENOSPC:when=3+3', 'all'],
  ['ENOMEM on every 3rd open', 'openat:error=ENOMEM:when=3+3', 'all'],
  ['EAGAIN on every 2nd fork', 'clone,clone3,fork,vfork:error=EAGAIN:when=1+2', 'all'],
];

function pathsOf(target: Target, station: Station, sessions: readonly string[]): string[] {
  const inRuntime = (names: string[]) =>
    sessions.flatMap((id) => names.map((name) => station.file('run/sessions', id, name)));
  const logs = Array.from({ length: 100 }, (_, n) => `${n}.log`);
  if (target === 'pipes') return inRuntime(['in', 'ctl', 'o0', 'e0', 'o1', 'e1', 'o2', 'e2']);
  if (target === 'files') {
    return [
      ...inRuntime(['c']),
      ...sessions.flatMap((id) => logs.map((name) => station.file('state/sessions', id, name))),
    ];
  }
  return [];
}

const known = ['overloaded', 'shell_start_failed', 'cwd_not_found'];

describe('System calls that fail', () => {
  let station: Station;
  let injection: Injection | undefined;

  before(async function () {
    const reason = whyNoStrace();
    if (reason !== undefined) skipBecause(this, reason);
    station = await Station.open();
  });
  afterEach(() => injection?.end());
  after(() => station?.dispose());

  for (const [what, injected, target] of injections) {
    it(`${what}: every answer is right or a failure in words, nothing hangs, and then all is well`, async function () {
      this.timeout(90_000);
      const sessions = [await station.session(), await station.session({ shell: 'zsh' })];
      const [first = '', second = ''] = sessions;
      for (const session of sessions) await station.run(session, 'x=kept');
      injection = await Injection.begin(station, injected, pathsOf(target, station, sessions));
      const tally = { right: 0, refused: 0, noted: 0 };
      const rounds = long ? 40 : 4;
      const ran = async (session: string, n: number) => {
        const command = `echo out ${n}; echo err ${n} >&2; (exit ${n % 100})`;
        const { ok, data, error } = await station.ask(session, command, { timeout_ms: 20_000 });
        if (!ok) {
          assert.ok(known.includes(error?.code ?? ''), `${error?.code}: ${error?.message}`);
          tally.refused++;
          return;
        }
        const { outcome, exit_code, stdout, stderr, notes, stdout_bytes } = data;
        if (exit_code === null && notes.length > 0) {
          tally.noted++;
          return;
        }
        assert.deepEqual(
          { outcome, exit_code, stdout, stderr, stdout_bytes },
          {
            outcome: 'exited',
            exit_code: n % 100,
            stdout: `out ${n}\n`,
            stderr: `err ${n}\n`,
            stdout_bytes: stdout.length,
          },
        );
        tally.right++;
      };
      for (let n = 1; n <= rounds; n++) {
        await Promise.all([ran(first, n), ran(second, n + 50)]);
        const made = await station.client.request('session.create', { cwd: station.sandbox.work });
        if (made.ok) {
          await ran(made.data.session_id, n);
          await station.client.request('session.destroy', { session_id: made.data.session_id });
        } else assert.ok(known.includes(made.error?.code ?? ''), `${made.error?.code}: ${made.error?.message}`);
        const behind = await station.client.request('exec.start', {
          session_id: first,
          command: `(exit ${n})`,
          background: true,
        });
        if (behind.ok) {
          const { command_id } = behind.data;
          const { data } = await station.client.request('exec.wait', { command_id, timeout_ms: 20_000 });
          if (data?.exit_code !== null && data?.exit_code !== undefined) assert.equal(data.exit_code, n);
          assert.notEqual(data?.met, 'timeout');
        }
      }
      const failed = await injection.end();
      injection = undefined;
      for (const session of sessions) {
        assert.equal((await station.run(session, 'echo $x')).stdout, 'kept\n');
        await station.assertNextCommandWorks(session);
      }
      await station.assertNextCommandWorks(await station.session());
      figure(
        `${failed} calls failed; ${tally.right} answers right, ${tally.refused} refused in words, ${tally.noted} with a note`,
      );
      assert.ok(failed > 0, 'at least one call failed');
      const { sessions: all } = await station.client.data('session.list');
      for (const { session_id } of all) await station.client.data('session.destroy', { session_id });
    });
  }

  it('leave nothing behind when it ends', async () => {
    figure(`ended in ${Math.round(await station.endCleanly())} ms`);
  });
});
