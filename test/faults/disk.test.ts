import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { figure, Station, skipBecause } from '../helpers/station';

const mounting = ['unshare', '-m'];

/** Why no file system can be mounted here, if so. */
function whyNoMount(): string | undefined {
  const [program = '', ...args] = [...mounting, 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'];
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) return `${program} cannot be run (${error.message})`;
  return status === 0 ? undefined : `a file system cannot be mounted (${stderr.trim()})`;
}

type Place = 'run' | 'state';

/** A sidecar whose runtime or state directory is a small file system of its own, which goes away with it. */
const onSmallDisk = (place: Place, options: string) =>
  Station.open({
    prefix: ({ dir }) => {
      const mount = `mkdir -p "$0" && mount -t tmpfs -o mode=700,${options} tmpfs "$0" && exec "$@"`;
      return [...mounting, 'sh', '-c', mount, join(dir, place)];
    },
  });

/** Runs a shell line where the sidecar sees its disk. */
function there(station: Station, place: Place, line: string): string {
  const args = ['-t', String(station.pid), '-m', 'sh', '-c', `cd "$0" && ${line}`, station.file(place)];
  const { status, stdout, stderr } = spawnSync('nsenter', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

const full = 'dd if=/dev/zero of=filler bs=4096 2>/dev/null; :';
const freed = 'rm -f filler*';
const noInodes = 'i=0; while true > filler.$i; do i=$((i+1)); done 2>/dev/null; :';
/** Not while something has a file open to write it, which a log is for a moment. */
const readOnly =
  'mount --bind . . && cd . && n=0; until mount -o remount,bind,ro "$0"; do [ $((n += 1)) -le 200 ] || exit 1; sleep 0.05; done';
const writable = 'umount -l "$0"';

const troubles: Record<string, { mount: string; begin: string; end: string; says: RegExp }> = {
  full: { mount: 'size=2m', begin: full, end: freed, says: /full|ENOSPC|No space/i },
  'out of inodes': { mount: 'size=8m,nr_inodes=300', begin: noInodes, end: freed, says: /full|ENOSPC|No space/i },
  'read-only': { mount: 'size=2m', begin: readOnly, end: writable, says: /read-only|EROFS/i },
};

describe('A disk in trouble', () => {
  let station: Station | undefined;

  before(function () {
    const reason = whyNoMount();
    if (reason !== undefined) skipBecause(this, reason);
  });
  afterEach(async () => {
    await station?.dispose();
    station = undefined;
  });

  for (const [trouble, { mount, begin, end, says }] of Object.entries(troubles)) {
    it(`that is ${trouble}, under the logs: every command is answered exactly, and says what is not logged`, async () => {
      station = await onSmallDisk('state', mount);
      const session = await station.session();
      await station.assertNextCommandWorks(session);
      there(station, 'state', begin);
      const print = 'head -c 300000 /dev/zero | tr "\\0" a; echo err >&2; (exit 3)';
      const result = await station.run(session, print);
      assert.deepEqual(
        [result.outcome, result.exit_code, result.stdout === 'a'.repeat(300_000), result.stderr, result.stdout_bytes],
        ['exited', 3, true, 'err\n', 300_000],
      );
      const { chunks, dropped_bytes } = await station.client.data('exec.output', { command_id: result.command_id });
      const kept = chunks.reduce((sum: number, { data }: { data: string }) => sum + data.length, 0);
      assert.equal(kept + dropped_bytes, 300_004);
      // A file made ahead may still take the log of one command.
      const isLost = dropped_bytes > 0;
      assert.match(result.notes.join(), isLost ? says : /^$/);
      const later = await station.client.data('exec.wait', { command_id: result.command_id, max_output_bytes: 1e6 });
      assert.deepEqual(
        [later.exit_code, later.stdout_bytes, later.stdout.length < 300_000, later.truncated.stdout],
        [3, 300_000, isLost, isLost],
      );
      await station.assertNextCommandWorks(session);
      const other = await station.session();
      await station.assertNextCommandWorks(other);
      there(station, 'state', end);
      const { notes } = await station.run(session, 'echo logged again');
      assert.deepEqual(notes, []);
      assert.deepEqual(station.errors(), []);
      figure(`${kept} of 300004 bytes in the log, ${dropped_bytes} said to be missing, exit codes right`);
    });

    it(`that is ${trouble}, under the sessions: what cannot be done is refused in words, and then done again`, async () => {
      station = await onSmallDisk('run', mount);
      const session = await station.session();
      await station.assertNextCommandWorks(session);
      there(station, 'run', begin);
      const script = `echo begin; ${': some text that makes it long;\n'.repeat(2000)} echo end`;
      const long = await station.ask(session, script);
      if (long.ok) assert.equal(long.data.stdout, 'begin\nend\n');
      else assert.deepEqual([long.error?.code, says.test(long.error?.message ?? '')], ['overloaded', true]);
      const withInput = await station.ask(session, 'cat', { stdin: 'x'.repeat(100_000) });
      if (withInput.ok) assert.equal(withInput.data.stdout_bytes, 100_000);
      else assert.deepEqual([withInput.error?.code, says.test(withInput.error?.message ?? '')], ['overloaded', true]);
      const behind = await station.client.request('exec.start', {
        session_id: session,
        command: 'echo b',
        background: true,
      });
      if (behind.ok) await station.client.data('exec.wait', { command_id: behind.data.command_id });
      else assert.deepEqual([behind.error?.code, says.test(behind.error?.message ?? '')], ['overloaded', true]);
      const created = await station.client.request('session.create', { cwd: station.sandbox.work });
      if (created.ok) await station.assertNextCommandWorks(created.data.session_id);
      // A directory may have been made ahead; the one after that cannot be.
      const refused = created.ok ? await station.client.request('session.create', {}) : created;
      assert.equal(refused.ok, false);
      assert.ok(['shell_start_failed', 'overloaded'].includes(refused.error?.code ?? ''));
      assert.match(refused.error?.message ?? '', says);
      const { background_count } = await station.client.data('session.info', { session_id: session });
      assert.equal(background_count, 0);
      there(station, 'run', end);
      await station.assertNextCommandWorks(session);
      await station.assertNextCommandWorks(await station.session());
      assert.equal((await station.run(session, 'cat', { stdin: 'x'.repeat(100_000) })).stdout_bytes, 100_000);
      assert.deepEqual(station.errors(), []);
      figure(
        `a long command: ${long.ok ? 'ran' : long.error?.code}; input: ${withInput.ok ? 'ran' : withInput.error?.code}; ` +
          `background: ${behind.ok ? 'ran' : behind.error?.code}; a session: ${refused.error?.code}`,
      );
    });
  }

  it('that is full when the sidecar starts does not keep it from starting, and read-only neither', async () => {
    for (const line of [full, noInodes, readOnly]) {
      const mount = `mkdir -p "$0" && mount -t tmpfs -o mode=700,size=1m,nr_inodes=200 tmpfs "$0" && (cd "$0" && ${line}) && exec "$@"`;
      station = await Station.open({ prefix: ({ dir }) => [...mounting, 'sh', '-c', mount, join(dir, 'state')] });
      await station.assertNextCommandWorks(await station.session());
      await station.dispose();
    }
    figure('3 of 3 started and answered');
  });
});
