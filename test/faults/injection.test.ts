import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { figure, long, Station, skipBecause } from '../helpers/station';
import { Injection, whyNoStrace } from '../helpers/strace';

type Target = 'pipes' | 'files' | 'journals' | 'all';

/**
 * `pipes` are what a session and its shell talk through, `files` a command's text and log, `journals` what the next sidecar
 * would need: those of the sessions, and the one with what short commands have printed.
 */
const injections: [what: string, injected: string, target: Target][] = [
  ['EINTR on every 3rd read of a pipe', 'read:error=EINTR:when=3+3', 'pipes'],
  ['EIO on every 7th read of a pipe', 'read:error=EIO:when=7+7', 'pipes'],
  ['EINTR on every 3rd write to a pipe', 'write:error=EINTR:when=3+3', 'pipes'],
  ['EIO on every 5th write to a pipe', 'write:error=EIO:when=5+5', 'pipes'],
  ['EINTR on every 3rd write to a file', 'write,pwrite64:error=EINTR:when=3+3', 'files'],
  ['EIO on every 3rd write to a file', 'write,pwrite64:error=EIO:when=3+3', 'files'],
  ['ENOSPC on every 3rd write to a file', 'write,pwrite64:error=ENOSPC:when=3+3', 'files'],
  ['EINTR on every 3rd write to a journal', 'write,pwrite64:error=EINTR:when=3+3', 'journals'],
  ['EIO on every 3rd write to a journal', 'write,pwrite64:error=EIO:when=3+3', 'journals'],
  ['ENOSPC on every 2nd write to a journal', 'write,pwrite64:error=ENOSPC:when=2+2', 'journals'],
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
  if (target === 'journals') {
    const unlogged = readdirSync(station.sandbox.runtimeDir).filter((name) => name.startsWith('unlogged-'));
    assert.equal(unlogged.length, 1, 'what short commands print has a journal');
    return [...inRuntime(['journal', 'journal.new']), ...unlogged.map((name) => station.file('run', name))];
  }
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
      injection = await Injection.begin({
        pids: [station.pid],
        injected,
        paths: pathsOf(target, station, sessions),
        report: station.file(`strace-${injected.replace(/\W+/g, '-')}-${target}`),
      });
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
        assert.notEqual(outcome, 'timed_out', `it hung, and said: ${notes.join(' ')}`);
        if (notes.length > 0) tally.noted++;
        if (exit_code === null && notes.length > 0) return;
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
        if (notes.length === 0) tally.right++;
      };
      for (let n = 1; n <= rounds; n++) {
        await Promise.all([ran(first, n), ran(second, n + 50)]);
        const made = await station.client.request('session.create', { cwd: station.sandbox.work });
        if (made.ok) {
          await ran(made.data.session_id, n);
          await station.client.request('session.destroy', { session_id: made.data.session_id });
        } else {
          assert.ok(known.includes(made.error?.code ?? ''), `${made.error?.code}: ${made.error?.message}`);
          tally.refused++;
        }
        const behind = await station.client.request('exec.start', {
          session_id: first,
          command: `(exit ${n})`,
          background: true,
        });
        if (behind.ok) {
          const { command_id } = behind.data;
          const { data } = await station.client.request('exec.wait', { command_id, timeout_ms: 20_000 });
          assert.notEqual(data?.met, 'timeout');
          if (data === undefined) tally.refused++;
          else if (data.exit_code === null) tally.noted++;
          else {
            assert.equal(data.exit_code, n);
            tally.right++;
          }
        } else tally.refused++;
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
      // A call that was merely interrupted is made again, and nobody notices.
      if (injected.includes('EINTR')) assert.deepEqual([tally.refused, tally.noted], [0, 0]);
      assert.ok(tally.right > 0, 'at least one answer is right');
      const { sessions: all } = await station.client.data('session.list');
      for (const { session_id } of all) await station.client.data('session.destroy', { session_id });
    });
  }

  it('leave nothing behind when it ends', async () => {
    figure(`ended in ${Math.round(await station.endCleanly())} ms`);
  });
});
