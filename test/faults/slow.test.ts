import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SidecarClient } from '../../client/client';
import type { CommandResult } from '../../protocol/values';
import { shells } from '../helpers/engine';
import { isAlive, processesHolding, processesMarked, statusOf } from '../helpers/processes';
import { Sandbox, until } from '../helpers/sidecar';
import { figure, skipBecause, timed } from '../helpers/station';
import { Injection, whyNoStrace } from '../helpers/strace';

/** What looks at files by their paths or reads directories, in the shell, in programs and in the sidecar. */
const looks =
  'openat,stat,lstat,newfstatat,statx,access,faccessat,faccessat2,readlink,readlinkat,getdents64,chdir,mkdir';
const delayMs = 250;
/** Longer than a command is given to end, by whichever signal. As on a real disk, a call cannot be ended by one either. */
const stuckMs = 6000;
let marks = 0;

for (const shell of shells) {
  describe(`A ${shell} in a workspace on a slow file system`, () => {
    let sandbox: Sandbox;
    let client: SidecarClient;
    let other: SidecarClient;
    let workspace: string;
    let mark: string;
    let slow: string;
    let quick: string;
    let injection: Injection | undefined;

    before(function () {
      const reason = whyNoStrace();
      if (reason !== undefined) skipBecause(this, reason);
    });
    beforeEach(async () => {
      sandbox = new Sandbox();
      mark = `${process.pid}-${++marks}.`;
      workspace = join(sandbox.dir, 'slow');
      for (const name of ['', 'sub', 'hung']) mkdirSync(join(workspace, name));
      for (const name of ['one', 'two']) writeFileSync(join(workspace, name), `${name}\n`);
      client = await sandbox.connect();
      other = await sandbox.connect();
      slow = await create(workspace);
      quick = await create(sandbox.work);
      await run(slow, 'x=kept');
    });
    afterEach(async () => {
      await injection?.end();
      injection = undefined;
      await sandbox.dispose();
    });

    const create = async (cwd: string) =>
      (await client.request('session.create', { shell, cwd, env: { SLOWED_BY_TEST: mark } })).sessionId;
    const run = (sessionId: string, command: string) => client.request('exec.run', { sessionId, command });
    const shellOf = async (sessionId: string) => (await client.request('session.info', { sessionId })).pid ?? 0;

    /** From now on every look at the workspace takes long, for the sidecar as for the shell and what it runs. */
    const slowDown = async () => delay([client.sidecar.pid, await shellOf(slow)], everything, delayMs);
    /** From now on whoever looks into one directory is stuck. The sidecar never does, and being traced would slow it down. */
    const block = async () => delay([await shellOf(slow)], ['hung'], stuckMs);
    const delay = async (pids: number[], names: string[], ms: number) => {
      injection = await Injection.begin({
        pids,
        injected: `${looks}:delay_enter=${ms * 1000}`,
        paths: names.map((name) => join(workspace, name)),
        withChildren: true,
        report: join(sandbox.dir, 'strace'),
      });
    };
    const everything = ['', 'one', 'two', 'sub', 'none'];

    /** Asks the sidecar and another session, one after the other, for as long as something takes. */
    async function answersDuring(work: Promise<unknown>): Promise<{ count: number; slowest: number }> {
      let isOver = false;
      const over = work.finally(() => {
        isOver = true;
      });
      let [count, slowest] = [0, 0];
      const note = (ms: number) => {
        if (isOver) return;
        count++;
        slowest = Math.max(slowest, ms);
      };
      while (!isOver) {
        const [{ pong }, pingMs] = await timed(other.request('system.ping', {}));
        assert.equal(pong, true);
        note(pingMs);
        const command = `echo ${count}; (exit ${count % 100})`;
        const expected = [count % 100, `${count}\n`];
        const [{ exitCode, stdout }, runMs] = await timed(other.request('exec.run', { sessionId: quick, command }));
        assert.deepEqual([exitCode, stdout], expected);
        note(runMs);
      }
      await over;
      return { count, slowest };
    }

    const listing = 'ls "$PWD"; cat "$PWD/one" "$PWD/none" "$PWD/two"; cd "$PWD/sub"; (exit 4)';
    const listed = 'hung\none\nsub\ntwo\none\ntwo\n';
    const assertListed = (result: { [K in keyof CommandResult]?: CommandResult[K] | undefined }) => {
      const { outcome, exitCode, stdout, cwd } = result;
      assert.deepEqual(
        { outcome, exitCode, stdout, cwd },
        { outcome: 'exited', exitCode: 4, stdout: listed, cwd: join(workspace, 'sub') },
      );
      assert.match(result.stderr ?? '', /^cat: \S*none\S*: No such file or directory\n$/);
    };

    it('has exact results, and nobody else waits for it', async () => {
      await slowDown();
      const working = timed(run(slow, listing));
      const { count, slowest } = await answersDuring(working);
      const [result, took] = await working;
      assertListed(result);
      const delayed = injection?.count ?? 0;
      assert.ok(delayed >= 5, `${delayed} calls were slow`);
      assert.ok(took >= delayed * delayMs * 0.5, `it took ${took} ms`);
      assert.ok(count >= 20, `${count} answers meanwhile`);
      assert.ok(slowest < took / 2, `an answer took ${slowest} ms`);
      figure(
        `${delayed} slow calls, ${took} ms; meanwhile ${count} answers to others, of which the slowest took ${slowest} ms`,
      );
    });

    const forever = 'while :; do ls "$PWD" >/dev/null; echo again; done';
    for (const way of ['a cancel', 'a time-out'] as const) {
      it(`ends a command that is at it, by ${way}, and keeps the shell`, async () => {
        await slowDown();
        const pid = await shellOf(slow);
        const timeoutMs = way === 'a time-out' ? { timeoutMs: 3 * delayMs } : {};
        const { commandId } = await client.request('exec.start', { sessionId: slow, command: forever, ...timeoutMs });
        if (way === 'a cancel') {
          await client.request('exec.wait', { commandId, until: [{ output: 'again' }] });
          await client.request('exec.cancel', { commandId });
        }
        const { outcome, stdout = '', durationMs = 0 } = await client.request('exec.wait', { commandId });
        assert.equal(outcome, way === 'a cancel' ? 'cancelled' : 'timed_out');
        // zsh adds a newline if a program dies of an interrupt too late for it to be left out.
        assert.match(stdout, /^(again\n)*\n?$/);
        assert.ok(durationMs < 15_000, `it took ${durationMs} ms`);
        const slowCalls = injection?.count ?? 0;
        assert.ok(slowCalls > 0, 'it was slow');
        assert.deepEqual([(await run(slow, 'echo $x')).stdout, await shellOf(slow)], ['kept\n', pid]);
        assertListed(await run(slow, listing));
        figure(`over ${Math.round(durationMs)} ms after it began, with ${slowCalls} slow calls; state and shell kept`);
      });
    }

    /** A traced process stands still at every call for a moment; one that is stuck does for longer. */
    const isStuck = async () => {
      const still = new Map<number, number>();
      await until(() => {
        for (const pid of processesMarked(`SLOWED_BY_TEST=${mark}`)) {
          still.set(pid, statusOf(pid)?.state === 't' ? (still.get(pid) ?? 0) + 1 : 0);
        }
        return [...still.values()].some((looks) => looks >= 20);
      }, 'it is stuck');
    };
    const stuck = { 'a program': 'echo begun; ls "$PWD/hung"', 'the shell itself': 'echo begun; cd "$PWD/hung"' };
    const ways = { 'a program': 'a cancel', 'the shell itself': 'a time-out' } as const;
    for (const what of ['a program', 'the shell itself'] as const) {
      it(`in which ${what} is stuck: ${ways[what]} gets out of it, and nobody else waits`, async () => {
        await until(() => existsSync(join(sandbox.runtimeDir, 'sessions', slow, 'snapshot')), 'the state is saved');
        await block();
        const byCancel = ways[what] === 'a cancel';
        const timeoutMs = byCancel ? {} : { timeoutMs: 2000 };
        const { commandId } = await client.request('exec.start', {
          sessionId: slow,
          command: stuck[what],
          ...timeoutMs,
        });
        const { met } = await client.request('exec.wait', { commandId, until: [{ output: 'begun' }] });
        assert.equal(met, 'output');
        if (byCancel) await isStuck();
        const ending = timed(
          Promise.all([
            client.request('exec.wait', { commandId }),
            byCancel ? client.request('exec.cancel', { commandId }) : undefined,
          ]),
        );
        const { count, slowest } = await answersDuring(ending);
        const [[{ outcome, stdout = '' }], took] = await ending;
        assert.equal(outcome, byCancel ? 'cancelled' : 'timed_out');
        assert.match(stdout, /^begun\n\n?$/);
        assert.ok(took < stuckMs + 15_000, `it took ${took} ms`);
        assert.ok(count >= 20, `${count} answers meanwhile`);
        assert.ok(slowest < stuckMs / 2, `an answer took ${slowest} ms`);
        assert.equal((await run(slow, 'echo $x')).stdout, 'kept\n');
        assertListed(await run(slow, listing));
        figure(`over after ${took} ms; meanwhile ${count} answers to others, of which the slowest took ${slowest} ms`);
      });
    }

    it('is adopted in the middle of a command, which ends as it would have', async () => {
      await slowDown();
      const [pid, sidecar] = [await shellOf(slow), client.sidecar.pid];
      const { commandId } = await client.request('exec.start', { sessionId: slow, command: `echo begun; ${listing}` });
      await client.request('exec.wait', { commandId, until: [{ output: 'begun' }] });
      process.kill(sidecar, 'SIGKILL');
      await until(() => !isAlive(sidecar), 'it is gone');
      client.dispose();
      client = await sandbox.connect();
      const [{ stdout = '', ...result }, took] = await timed(client.request('exec.wait', { commandId }));
      assertListed({ ...result, stdout: stdout.replace(/^begun\n/, '') });
      assert.deepEqual([(await run(slow, 'echo $x')).stdout, await shellOf(slow)], ['kept\n', pid]);
      figure(
        `the command ended ${took} ms after the next sidecar had answered, with ${injection?.count} slow calls in all`,
      );
    });

    it('is destroyed while a program is stuck in it: all that is left goes as soon as it can', async () => {
      await block();
      const { commandId } = await client.request('exec.start', { sessionId: slow, command: stuck['a program'] });
      await client.request('exec.wait', { commandId, until: [{ output: 'begun' }] });
      await isStuck();
      const destroying = timed(client.request('session.destroy', { sessionId: slow }));
      const { count } = await answersDuring(destroying);
      const [, took] = await destroying;
      assert.ok(took < stuckMs + 15_000, `it took ${took} ms`);
      assert.ok(count >= 20, `${count} answers meanwhile`);
      await client.request('session.destroy', { sessionId: quick });
      await until(() => processesMarked(`SLOWED_BY_TEST=${mark}`).length === 0, 'no process of it is left');
      const directory = join(sandbox.runtimeDir, 'sessions', slow);
      assert.deepEqual([existsSync(directory), processesHolding(directory)], [false, []]);
      figure(`destroyed in ${took} ms, and ${count} answers to others meanwhile`);
    });
  });
}
