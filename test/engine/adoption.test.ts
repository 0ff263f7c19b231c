import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import type { Engine } from '../../sidecar/engine/engine';
import { bytesOf, shells, until } from '../helpers/engine';
import { killedWhileOpening } from '../helpers/held-engine';
import { type KillableEngine, Succession } from '../helpers/killable-engine';
import { childrenOf, isAlive, processesHolding, statusOf, zombies } from '../helpers/processes';

const hourMs = 3_600_000;

for (const shell of shells) {
  describe(`Adoption, in ${shell}`, () => {
    let succession: Succession;
    let first: KillableEngine;
    let cwd: string;
    let sessionId: string;

    beforeEach(async () => {
      succession = await Succession.begin();
      first = await succession.killable();
      cwd = join(succession.root, 'work');
      await mkdir(cwd);
      ({ sessionId } = await first.create({ shell, cwd, name: 'mine', env: { FROM_CREATE: 'yes' } }));
    });
    afterEach(() => succession.end());

    const killed = async (): Promise<Engine> => {
      await first.kill();
      return succession.next();
    };
    const handedOver = async (): Promise<Engine> => {
      await first.call('leave', undefined);
      return succession.next();
    };
    const departures = { killed, 'handed over': handedOver };
    const file = (name: string) => join(cwd, name);
    const appears = (name: string) => until(`${name} is there`, () => existsSync(file(name)));
    /** A command that goes on when its file is removed. */
    const held = (name: string) => `: > ${name}; while [ -e ${name} ]; do sleep 0.01; done`;
    const letGo = (name: string) => rm(file(name));
    const whole = (engine: Engine, commandId: string, timeoutMs = 20_000) => engine.wait({ commandId, timeoutMs });

    it('goes on with an idle session: same id, name, shell and state', async () => {
      const { pid } = await first.create({ shell, cwd });
      const before = (await first.run({ sessionId, command: 'a=1; f() { echo "f $a"; }; cd /; (exit 7)' })).exitCode;
      assert.equal(before, 7);
      await noted('["ended",1');
      const engine = await killed();
      const info = engine.sessionInfo(sessionId);
      assert.deepEqual(
        { name: info.name, shell: info.shell, state: info.state },
        { name: 'mine', shell, state: 'idle' },
      );
      const { stdout, cwd: where, outcome } = await engine.run({ sessionId, command: 'echo "$? $FROM_CREATE"; f' });
      assert.deepEqual({ stdout, where, outcome }, { stdout: '7 yes\nf 1\n', where: '/', outcome: 'exited' });
      assert.equal(engine.listSessions().length, 2);
      assert.ok(engine.listSessions().some((session) => session.pid === pid));
    });

    it('goes on with a running foreground command and tells its exit code', async () => {
      const { commandId } = await first.start({
        sessionId,
        command: `echo before; ${held('gate')}; echo after; (exit 5)`,
      });
      // What is printed is in the sidecar's hands for a moment, and would be lost with it.
      await first.wait({ commandId, until: [{ output: 'before' }], timeoutMs: 20_000 });
      await appears('gate');
      const engine = await killed();
      assert.equal(engine.sessionInfo(sessionId).runningCommand?.commandId, commandId);
      await letGo('gate');
      const { exitCode, outcome, stdout } = await whole(engine, commandId);
      assert.deepEqual({ exitCode, outcome, stdout }, { exitCode: 5, outcome: 'exited', stdout: 'before\nafter\n' });
      assert.equal((await engine.run({ sessionId, command: 'echo $?' })).stdout, '5\n');
    });

    it('keeps the log of a command that still runs, however long ago it printed', async () => {
      const { commandId } = await first.start({ sessionId, command: `echo before; ${held('gate')}; echo after` });
      await first.wait({ commandId, until: [{ output: 'before' }], timeoutMs: 20_000 });
      await appears('gate');
      const log = join(succession.stateDir, 'sessions', sessionId, '1.log');
      await until('its log is there', () => existsSync(log));
      await first.kill();
      utimesSync(log, 0, 0);
      const engine = await succession.next();
      await letGo('gate');
      assert.equal((await whole(engine, commandId)).stdout, 'before\nafter\n');
    });

    it('has everything a command printed that ended while there was no sidecar', async () => {
      const command = `${held('gate')}; echo out; echo err >&2; : > over; (exit 3)`;
      const { commandId } = await first.start({ sessionId, command });
      await appears('gate');
      await first.kill();
      await letGo('gate');
      await appears('over');
      const { exitCode, stdout, stderr } = await whole(await succession.next(), commandId);
      assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
    });

    it('knows the exit code of a background command that ended while there was no sidecar', async () => {
      const { commandId, pid } = await first.start({
        sessionId,
        command: `${held('gate')}; echo out; (exit 9)`,
        background: true,
      });
      await appears('gate');
      await first.kill();
      await letGo('gate');
      await until('it has ended', () => pid === undefined || !isAlive(pid));
      const { exitCode, stdout } = await whole(await succession.next(), commandId);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 9, stdout: 'out\n' });
    });

    it('goes on with a background command, which can be stopped', async () => {
      const { commandId, pid } = await first.start({ sessionId, command: 'echo up; sleep 300', background: true });
      await first.wait({ commandId, until: [{ output: 'up' }], timeoutMs: 20_000 });
      const engine = await killed();
      assert.equal(engine.listCommands({ sessionId, runningOnly: true }).commands[0]?.pid, pid);
      const { outcome } = await engine.cancel({ commandId });
      assert.equal(outcome, 'cancelled');
      await until('it is gone', () => pid !== undefined && !isAlive(pid));
    });

    it('keeps cursors: what was read before is not told again, and nothing is left out', async () => {
      const command = `echo one; echo two >&2; : > shown; ${held('gate')}; echo three`;
      const { commandId } = await first.start({ sessionId, command });
      await appears('gate');
      await first.wait({ commandId, until: [{ output: 'two' }], timeoutMs: 20_000 });
      const seen = await first.output({ commandId });
      assert.equal(bytesOf(seen.chunks).toString().length, 8);
      const engine = await killed();
      await letGo('gate');
      await whole(engine, commandId);
      const rest = await engine.output({ commandId, fromSeq: seen.nextSeq });
      assert.equal(bytesOf(rest.chunks).toString(), 'three\n');
      assert.deepEqual((await engine.output({ commandId })).chunks.slice(0, seen.chunks.length), seen.chunks);
    });

    it('remembers finished commands with their output and exit codes', async () => {
      const done = await first.run({ sessionId, command: 'printf abc; echo e >&2; (exit 4)' });
      await noted('["ended",1');
      const engine = await killed();
      const { met: _met, ...again } = await whole(engine, done.commandId);
      assert.deepEqual(
        { ...again, background: undefined, origin: undefined, state: undefined },
        { ...done, background: undefined, origin: undefined, state: undefined },
      );
    });

    it('runs what waited in the queue, once and in order', async () => {
      await first.start({ sessionId, command: held('gate') });
      await appears('gate');
      const second = await first.start({ sessionId, command: 'echo second >> order; echo 2' });
      const third = await first.start({ sessionId, command: 'echo third >> order; echo 3' });
      const engine = await killed();
      await letGo('gate');
      assert.equal((await whole(engine, third.commandId)).stdout, '3\n');
      assert.equal((await whole(engine, second.commandId)).stdout, '2\n');
      assert.equal(readFileSync(file('order'), 'utf8'), 'second\nthird\n');
    });

    it('interrupts an adopted command, and keeps the shell', async () => {
      const { commandId } = await first.start({ sessionId, command: `kept=1; ${held('gate')}` });
      await appears('gate');
      const engine = await killed();
      assert.equal((await engine.cancel({ commandId })).outcome, 'cancelled');
      assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, '1\n');
    });

    it('still ends a command at its time-out, counted from its start', async () => {
      const { commandId } = await first.start({ sessionId, command: held('gate'), timeoutMs: 2 * hourMs });
      await appears('gate');
      await first.kill();
      beganEarlier(hourMs);
      const second = await succession.killable();
      await second.wait({ commandId, timeoutMs: 1 });
      assert.ok(!readFileSync(journal(), 'utf8').includes('["interrupted"'), 'its time is not over yet');
      await second.kill();
      beganEarlier(hourMs);
      const engine = await succession.next();
      const { outcome, durationMs } = await whole(engine, commandId);
      assert.equal(outcome, 'timed_out');
      assert.ok(durationMs !== undefined && durationMs >= 2 * hourMs, `${durationMs} ms`);
      assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
    });

    it('keeps an input open that was open, and can end it', async () => {
      const { commandId } = await first.start({ sessionId, command: 'cat; echo end', keepStdinOpen: true });
      await first.call('input', { commandId, data: 'one\n' });
      await first.wait({ commandId, until: [{ output: 'one' }], timeoutMs: 20_000 });
      await noted('["input-kept",1');
      const engine = await killed();
      await engine.input({ commandId, data: 'two\n' });
      await engine.input({ commandId, eof: true });
      assert.equal((await whole(engine, commandId)).stdout, 'one\ntwo\nend\n');
    });

    it('ends an input whose end was asked for and did not come to pass', async () => {
      const command = `${held('gate')}; cat; (exit 3)`;
      const { commandId } = await first.start({ sessionId, command, keepStdinOpen: true });
      await appears('gate');
      const isHeld = await first.holdAt('input-ended', join(succession.root, 'mark'));
      first.ask('input', { commandId, data: 'all\n', eof: true });
      await isHeld();
      const engine = await killed();
      await letGo('gate');
      const { exitCode, stdout } = await whole(engine, commandId);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'all\n' });
    });

    for (const [how, departed] of Object.entries(departures)) {
      it(`keeps input that came before its command’s turn, and its end, when ${how}`, async () => {
        await first.start({ sessionId, command: held('gate') });
        await appears('gate');
        const { commandId } = await first.start({ sessionId, command: 'cat; (exit 3)', keepStdinOpen: true });
        await first.call('input', { commandId, data: 'one\n' });
        await first.call('input', { commandId, data: 'two\n', eof: true });
        const engine = await departed();
        await letGo('gate');
        const { exitCode, stdout } = await whole(engine, commandId);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'one\ntwo\n' });
      });

      it(`keeps input that came while a snapshot was taken for its command, when ${how}`, async () => {
        const commandId = await waitsForSnapshot({ sessionId, command: 'cat; exit 3', keepStdinOpen: true });
        await first.call('input', { commandId, data: 'one\n' });
        const engine = await departed();
        const more = engine.input({ commandId, data: 'two\n', eof: true });
        process.kill(shellPid(), 'SIGCONT');
        await more;
        const { exitCode, stdout } = await whole(engine, commandId);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'one\ntwo\n' });
      });

      it(`keeps input, and its end, for a command that has not opened it yet when ${how}`, async () => {
        await stopShell();
        const { commandId } = await first.start({ sessionId, command: 'cat; (exit 3)', keepStdinOpen: true });
        await noted('["input-kept",1');
        await first.call('input', { commandId, data: 'all\n', eof: true });
        const engine = await departed();
        process.kill(shellPid(), 'SIGCONT');
        const { exitCode, stdout } = await whole(engine, commandId);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'all\n' });
      });

      for (const background of [false, true]) {
        const where = background ? 'background' : 'foreground';
        it(`runs a command in the ${where} that the shell had not read yet when ${how}, with all it was given`, async () => {
          await stopShell();
          const command = 'echo "$given" >> runs; cat; echo "$given"';
          first.ask(background ? 'start' : 'run', {
            ...{ sessionId, command, env: { given: 'yes' } },
            ...(background ? { background } : { stdin: 'all\n' }),
          });
          const directory = join(succession.runtimeDir, 'sessions', sessionId);
          const given = () => readdirSync(directory).filter((name) => /^(c\.|p\.|stdin\.)/.test(name));
          await until('it is written', () => given().length === 2);
          const engine = await departed();
          process.kill(shellPid(), 'SIGCONT');
          const { exitCode, stdout, stderr } = await whole(engine, `${sessionId}:1`);
          const expected = background ? 'yes\n' : 'all\nyes\n';
          assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: expected, stderr: '' });
          assert.equal(readFileSync(file('runs'), 'utf8'), 'yes\n');
          assert.deepEqual(given(), []);
        });
      }
    }

    it('replaces a shell that ended while there was no sidecar, and says with what status it ended', async () => {
      await first.run({ sessionId, command: 'a=kept' });
      const { commandId } = await first.start({ sessionId, command: `${held('gate')}; exit 6` });
      const { pid } = await first.call('listCommands', { sessionId }).then(() => ({ pid: shellPid() }));
      await appears('gate');
      await first.kill();
      await letGo('gate');
      await until('the shell is gone', () => !isAlive(pid));
      const engine = await succession.next();
      const { outcome, exitCode } = await whole(engine, commandId);
      assert.deepEqual({ outcome, exitCode }, { outcome: 'shell_exited', exitCode: 6 });
      assert.equal((await engine.run({ sessionId, command: 'echo $a' })).stdout, 'kept\n');
    });

    it('goes on with a background command whose shell ended while there was no sidecar', async () => {
      const { commandId, pid } = await first.start({ sessionId, command: 'echo up; sleep 300', background: true });
      await first.wait({ commandId, until: [{ output: 'up' }], timeoutMs: 20_000 });
      const shell = shellPid();
      await first.kill();
      process.kill(shell, 'SIGKILL');
      await until('the shell is gone', () => !isAlive(shell));
      const engine = await succession.next();
      assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
      assert.ok(pid !== undefined && isAlive(pid), 'its subshell lives');
      assert.equal((await engine.cancel({ commandId })).outcome, 'cancelled');
      await until('it is gone', () => !isAlive(pid));
    });

    it('finds out when an adopted shell ends', async () => {
      const engine = await killed();
      const { outcome, exitCode } = await engine.run({ sessionId, command: 'b=2; exit 8' });
      assert.deepEqual({ outcome, exitCode }, { outcome: 'shell_exited', exitCode: 8 });
      assert.equal((await engine.run({ sessionId, command: 'echo $b' })).stdout, '2\n');
    });

    it('destroys an adopted session without a trace', async () => {
      const { stdout } = await first.run({ sessionId, command: 'sleep 300 >/dev/null 2>&1 & echo $!' });
      const engine = await killed();
      const pid = shellPid();
      await engine.destroySession(sessionId);
      assert.ok(!isAlive(Number(stdout)) && !isAlive(pid));
      assert.ok(!existsSync(join(succession.runtimeDir, 'sessions', sessionId)));
      assert.deepEqual(zombies(), []);
    });

    it('is adopted again and again', async () => {
      const { commandId } = await first.start({ sessionId, command: `echo a; ${held('gate')}; echo z; (exit 2)` });
      await appears('gate');
      for (let times = 0; times < 3; times++) {
        await first.wait({ commandId, until: [{ output: 'a' }], timeoutMs: 20_000 });
        await first.kill();
        first = await succession.killable();
      }
      const engine = await killed();
      await letGo('gate');
      const { exitCode, stdout } = await whole(engine, commandId);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: 'a\nz\n' });
    });

    it('loses no byte in a planned hand-over', async () => {
      const lines = 20_000;
      const command = `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i"; echo "error $i" >&2; done`;
      const { commandId } = await first.start({ sessionId, command });
      await first.wait({ commandId, until: [{ output: 'line 50' }], timeoutMs: 20_000 });
      await first.call('leave', undefined);
      await first.kill();
      const engine = await succession.next();
      const { exitCode, stdout, stderr, notes } = await whole(engine, commandId, 60_000);
      const expected = (word: string) => Array.from({ length: lines }, (_, at) => `${word} ${at + 1}\n`).join('');
      assert.equal(exitCode, 0);
      assert.ok(stdout === expected('line'), 'stdout is whole');
      assert.ok(stderr === expected('error'), 'stderr is whole');
      assert.deepEqual(notes, []);
    });

    it('leaves a time-out to the next one in a planned hand-over', async () => {
      const command = `echo ran >> runs; ${held('gate')}`;
      const { commandId } = await first.start({ sessionId, command, timeoutMs: hourMs });
      await appears('gate');
      await first.call('leave', undefined);
      assert.ok(!readFileSync(journal(), 'utf8').includes('["interrupted"'), 'it was left before its time was over');
      beganEarlier(hourMs);
      const engine = await succession.next();
      const { outcome } = await whole(engine, commandId);
      assert.equal(outcome, 'timed_out');
      assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
    });

    it('does not run a command again that ended its shell just before a planned hand-over', async () => {
      const engine = await killed();
      let leaving: Promise<void> | undefined;
      holdAt((point) => {
        if (point === 'shell-replaced') leaving ??= engine.leave();
      });
      try {
        await engine.start({ sessionId, command: 'echo ran >> runs; exit 6' });
        await until('the shell was replaced', () => leaving !== undefined);
      } finally {
        holdAt(undefined);
      }
      await leaving;
      const successor = await succession.next();
      const [command] = successor.listCommands({ sessionId }).commands;
      const { outcome, exitCode } = await whole(successor, command?.commandId ?? '');
      assert.deepEqual({ outcome, exitCode }, { outcome: 'shell_exited', exitCode: 6 });
      assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
    });

    it('tells whoever waits in a planned hand-over where to go on', async () => {
      const { commandId } = await first.start({ sessionId, command: held('gate') });
      await appears('gate');
      const waiting = first.wait({ commandId }).catch((error: Error) => error.message);
      await first.call('leave', undefined);
      assert.equal(await waiting, 'shutting_down');
    });

    describe('when the sidecar is killed', () => {
      const heldAt = async (point: Parameters<KillableEngine['holdAt']>[0], ask: () => void, after = 0) => {
        const isHeld = await first.holdAt(point, join(succession.root, 'mark'), after);
        ask();
        await isHeld();
        return killed();
      };
      const ask =
        (command: string, more: object = {}) =>
        () =>
          first.ask('start', { sessionId, command, ...more });
      const last = (engine: Engine) => {
        const command = engine.listCommands({ sessionId }).commands.at(-1);
        assert.ok(command, 'the command is known');
        return whole(engine, command.commandId);
      };

      it('before it gave the shell a command, the command is run once', async () => {
        const engine = await heldAt('command-noted', ask('echo ran >> runs; (exit 3)'));
        assert.equal((await last(engine)).exitCode, 3);
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      it('as soon as it gave the shell a command, the command is run once', async () => {
        const engine = await heldAt('command-sent', ask('echo ran >> runs; (exit 3)'));
        assert.equal((await last(engine)).exitCode, 3);
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      for (const point of ['command-noted', 'background-sent', 'record-read'] as const) {
        it(`with a background command at ${point}, the command is run once`, async () => {
          const background = 'echo ran >> runs; echo out; (exit 3)';
          const engine = await heldAt(point, ask(background, { background: true }));
          const { exitCode, outcome, stdout } = await last(engine);
          assert.deepEqual({ exitCode, outcome, stdout }, { exitCode: 3, outcome: 'exited', stdout: 'out\n' });
          assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
          assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
        });
      }

      for (const point of ['background-sent', 'record-read'] as const) {
        it(`with a background command at ${point} that cannot have its environment, it is refused and not run`, async () => {
          await first.run({ sessionId, command: 'readonly fixed=1' });
          const isHeld = await first.holdAt(point, join(succession.root, 'mark'));
          const refused = { sessionId, command: 'echo ran >> runs', background: true, env: { fixed: '2' } };
          first.ask('start', refused);
          await isHeld();
          const status = join(succession.runtimeDir, 'sessions', sessionId, 'status');
          await until('it has ended', () => existsSync(status) && / 125$/m.test(readFileSync(status, 'utf8')));
          const engine = await killed();
          await assert.rejects(last(engine), { code: 'invalid_params' });
          assert.ok(!existsSync(file('runs')));
          assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
        });
      }

      it('before it gave the shell a background command that was cancelled since, the command is not run', async () => {
        const isHeld = await first.holdAt('command-noted', join(succession.root, 'mark'));
        first.ask('start', { sessionId, command: 'echo ran >> runs', background: true, timeoutMs: 1 });
        await isHeld();
        const engine = await killed();
        assert.equal((await last(engine)).outcome, 'timed_out');
        assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
        assert.ok(!existsSync(file('runs')));
      });

      /** Has no word that might end the shell: before such a one a snapshot is taken, whose report would come first. */
      const quiet = 'echo ran >> runs; echo out; false';

      it('with the report of a command in its hands, the shell is asked again', async () => {
        const engine = await heldAt('record-read', ask(quiet));
        const { exitCode, stdout } = await last(engine);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 1, stdout: 'out\n' });
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      it('with a report that had to be made another way, the command is not run again either', async () => {
        await first.run({ sessionId, command: 'printf() { :; }; x=1' });
        await first.run({ sessionId, command: 'echo a' });
        const engine = await heldAt('record-read', ask(quiet));
        const { exitCode, stdout } = await last(engine);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 1, stdout: 'out\n' });
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      it('between log and journal, the output is told once', async () => {
        const engine = await heldAt('output-logged', ask('echo out; (exit 3)'));
        const { exitCode, stdout } = await last(engine);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'out\n' });
      });

      it('with output in its hands, only that is lost', async () => {
        const engine = await heldAt('output-read', ask(`echo out; ${held('gate')}; echo more; (exit 3)`));
        await letGo('gate');
        const { exitCode, stdout } = await last(engine);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'more\n' });
      });

      it('before an exit code was published, the next one publishes it', async () => {
        const engine = await heldAt('publication-begun', ask('(exit 3)'));
        const { logPath } = await last(engine);
        const exitFile = (logPath ?? '').replace(/log$/, 'exit');
        await until('it is published', () => existsSync(exitFile));
        assert.equal(readFileSync(exitFile, 'utf8'), '3\n');
      });

      it('while it interrupts, with everything stopped, the interrupt goes on', async () => {
        const { commandId } = await first.start({ sessionId, command: `kept=1; ${held('gate')}` });
        await appears('gate');
        const engine = await heldAt('interrupt-held', () => first.ask('cancel', { commandId }));
        assert.equal((await whole(engine, commandId)).outcome, 'cancelled');
        assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, '1\n');
      });

      for (const [command, code] of [
        ['exit 6', 6],
        ['exec true', 0],
        ['kill -9 $$', null],
      ] as const) {
        it(`while it replaces a shell that ended by ${command}, there is one shell in the end, with its state`, async () => {
          await first.run({ sessionId, command: 'kept=1; f() { echo f; }' });
          const engine = await heldAt('shell-spawned', ask(command));
          const { outcome, exitCode } = await last(engine);
          assert.deepEqual({ outcome, exitCode }, { outcome: 'shell_exited', exitCode: code });
          for (let n = 0; n < 5; n++) {
            const { stdout } = await engine.run({ sessionId, command: `kept=$((kept + 1)); echo $kept; f` });
            assert.equal(stdout, `${n + 2}\nf\n`);
          }
        });
      }

      it('while the next shell reads a file of the user’s, there is one shell in the end', async () => {
        const home = join(succession.root, 'home');
        await mkdir(home);
        const rcFile = `echo $$ >>'${file('shells')}'; while [ -e '${file('gate')}' ]; do sleep 0.01; done`;
        for (const name of ['.bashrc', '.zshrc']) writeFileSync(join(home, name), rcFile);
        const env = { HOME: home, ZDOTDIR: home };
        ({ sessionId } = await first.create({ shell, cwd, profile: 'user', env }));
        await first.run({ sessionId, command: 'kept=1' });
        writeFileSync(file('gate'), '');
        const begun = () => readFileSync(file('shells'), 'utf8').split('\n').filter(Boolean).map(Number);
        first.ask('run', { sessionId, command: 'exit 6' });
        await until('another shell reads the file', () => begun().length === 2);
        const [, unfinished = 0] = begun();
        const engine = await killed();
        await letGo('gate');
        assert.equal((await last(engine)).exitCode, 6);
        await until('the one that nobody waits for is gone', () => !isAlive(unfinished));
        const { stdout, exitCode } = await engine.run({ sessionId, command: 'echo $kept; (exit 3)' });
        assert.deepEqual({ stdout, exitCode }, { stdout: '1\n', exitCode: 3 });
      });

      it('as soon as it has replaced a shell that a command ended, the command is not run again', async () => {
        const engine = await heldAt('shell-replaced', ask('echo ran >> runs; exit 6'));
        const { outcome, exitCode } = await last(engine);
        assert.deepEqual({ outcome, exitCode }, { outcome: 'shell_exited', exitCode: 6 });
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
        assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n');
      });

      it('while it starts a shell for a command, the command is run once, in the shell that comes', async () => {
        await first.run({ sessionId, command: 'kept=1' });
        const pid = shellPid();
        process.kill(pid, 'SIGKILL');
        await noted('"signal":"SIGKILL","lastNumber":1');
        const engine = await heldAt('shell-spawned', ask('echo ran >> runs; (exit 3)'));
        const { outcome, exitCode } = await last(engine);
        assert.deepEqual({ outcome, exitCode }, { outcome: 'exited', exitCode: 3 });
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      it('while it destroys a session, the next one destroys it', async () => {
        const pid = shellPid();
        const engine = await heldAt('destroy-begun', () => first.ask('destroySession', sessionId));
        assert.deepEqual(engine.listSessions(), []);
        assert.ok(!isAlive(pid));
      });

      for (const [point, becomes] of [
        ['shell-spawned', 'is gone'],
        ['session-ready', 'goes on'],
      ] as const) {
        it(`while it creates a session (${point}), that one ${becomes}, and no process of it is left when the next one ends`, async () => {
          const engine = await heldAt(point, () => first.ask('createSession', { shell, cwd, name: 'new' }));
          const sessions = engine.listSessions();
          assert.deepEqual(
            sessions.map(({ name }) => name).toSorted(),
            becomes === 'goes on' ? ['mine', 'new'] : ['mine'],
          );
          for (const { sessionId, name } of sessions) {
            assert.equal((await engine.run({ sessionId, command: 'echo on' })).stdout, 'on\n', name);
          }
          await engine.close();
          assert.deepEqual(sessionDirectories(), []);
          assert.deepEqual(processesHolding(succession.runtimeDir), []);
        });
      }

      it('while it adopts, the one after it adopts', async () => {
        const command = `echo ran >> runs; echo before; ${held('gate')}; echo after; (exit 3)`;
        const { commandId } = await first.start({ sessionId, command });
        await first.wait({ commandId, until: [{ output: 'before' }], timeoutMs: 20_000 });
        await appears('gate');
        const queued = await first.start({ sessionId, command: 'echo queued' });
        const pid = shellPid();
        await first.kill();
        await killedWhileOpening(succession, 'session-claimed');
        const engine = await succession.next();
        assert.deepEqual(
          engine.listSessions().map((session) => [session.sessionId, session.pid, session.runningCommand?.commandId]),
          [[sessionId, pid, commandId]],
        );
        await letGo('gate');
        const { exitCode, stdout } = await whole(engine, commandId);
        assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'before\nafter\n' });
        assert.equal((await whole(engine, queued.commandId)).stdout, 'queued\n');
        assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      });

      it('as soon as it has adopted, the one after it adopts', async () => {
        const { commandId } = await first.start({ sessionId, command: `${held('gate')}; (exit 3)` });
        await appears('gate');
        await first.kill();
        first = await succession.killable();
        const engine = await killed();
        await letGo('gate');
        assert.equal((await whole(engine, commandId)).exitCode, 3);
      });
    });

    it('goes on with a shell that was started without its rc files, and does not read them later either', async () => {
      const home = join(succession.root, 'home');
      await mkdir(home);
      for (const name of ['.bashrc', '.zshrc']) writeFileSync(join(home, name), 'exit 7\n');
      const made = await first.create({ shell, cwd, profile: 'user', env: { HOME: home } });
      sessionId = made.sessionId;
      await first.run({ sessionId, command: 'kept=1' });
      const command = `echo ran >> runs; ${held('gate')}; (exit 5)`;
      const { commandId } = await first.start({ sessionId, command });
      await appears('gate');
      const engine = await handedOver();
      await letGo('gate');
      assert.equal((await whole(engine, commandId)).exitCode, 5);
      assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      assert.equal((await engine.run({ sessionId, command: 'echo $kept; exit 3' })).stdout, '1\n');
      assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, '1\n');
    });

    it('goes on with a session in which an answer to its question is swallowed', async () => {
      await first.run({ sessionId, command: 'kept=1; command() { :; }; print() { :; }; printf() { :; }' });
      const engine = await handedOver();
      assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, '1\n');
    });

    it('knows a command whose output had yet to be given a place when the sidecar was killed', async () => {
      await first.kill();
      const bin = join(succession.root, 'bin');
      await mkdir(bin);
      // Places are made with it.
      writeFileSync(join(bin, 'mkfifo'), `#!/bin/sh\ncd '${cwd}' && ${held('making')}\nexit 1\n`, { mode: 0o755 });
      first = await succession.killable({ PATH: `${bin}:${process.env.PATH}` });
      for (let n = 0; n < 3; n++) await first.start({ sessionId, command: 'sleep 300', background: true });
      const { commandId } = await first.start({ sessionId, command: 'echo ran >> runs; (exit 3)' });
      await appears('making');
      const engine = await killed();
      assert.equal((await whole(engine, commandId)).exitCode, 3);
      assert.equal(readFileSync(file('runs'), 'utf8'), 'ran\n');
      await letGo('making');
    });

    it('leaves it to the next one to say how a command ended that is being stopped', async () => {
      const command = 'trap "" TERM; : > gate; while :; do sleep 0.05; done';
      const { commandId } = await first.start({ sessionId, command, background: true });
      await appears('gate');
      const stopping = first.call('cancel', { commandId }).catch((error: Error) => error.message);
      await noted('["interrupted",1');
      const engine = await handedOver();
      assert.equal(await stopping, 'shutting_down');
      const { outcome, exitCode } = await whole(engine, commandId);
      assert.equal(outcome, 'cancelled');
      const published = join(succession.stateDir, 'sessions', sessionId, '1.exit');
      await until('it is published', () => existsSync(published));
      assert.equal(readFileSync(published, 'utf8'), `${exitCode ?? 'unknown'}\n`);
    });

    it('leaves a session alone that it cannot open, and the next one goes on with it', async () => {
      await first.run({ sessionId, command: 'kept=1' });
      await first.kill();
      const directory = join(succession.runtimeDir, 'sessions', sessionId);
      renameSync(join(directory, 'ctl'), join(directory, 'away'));
      assert.deepEqual((await succession.next()).listSessions(), []);
      renameSync(join(directory, 'away'), join(directory, 'ctl'));
      const engine = await succession.next();
      assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, '1\n');
    });

    it('goes no further with a session of which it can open only a part, so that nothing is run twice', async () => {
      const order = (word: string) => `echo ${word} >> order`;
      const running = await first.start({ sessionId, command: `${held('gate')}; ${order('one')}` });
      await appears('gate');
      const queued = await first.start({ sessionId, command: order('two') });
      const open = await first.start({ sessionId, command: `cat; ${order('three')}`, background: true });
      await first.kill();
      const out = join(succession.runtimeDir, 'sessions', sessionId, 'o0');
      renameSync(out, `${out}.away`);
      assert.deepEqual((await succession.next()).listSessions(), []);
      renameSync(`${out}.away`, out);
      const engine = await succession.next();
      await letGo('gate');
      for (const { commandId } of [running, queued, open]) assert.equal((await whole(engine, commandId)).exitCode, 0);
      assert.equal(readFileSync(file('order'), 'utf8'), 'one\ntwo\nthree\n');
    });

    it('is not misled by a damaged journal', async () => {
      await first.run({ sessionId, command: 'a=1' });
      await first.kill();
      writeFileSync(journal(), `${readFileSync(journal(), 'utf8')}["chunk",1,"stdout"\n{}\nnull\n["ended",99]\n["beg`);
      const engine = await succession.next();
      assert.equal((await engine.run({ sessionId, command: 'echo $a' })).stdout, '1\n');
    });

    it('ends a session whose journal tells nothing, and leaves no process', async () => {
      const pid = shellPid();
      await first.kill();
      writeFileSync(journal(), '\0\0\0');
      const engine = await succession.next();
      assert.deepEqual(engine.listSessions(), []);
      assert.ok(!isAlive(pid));
      assert.ok(!existsSync(join(succession.runtimeDir, 'sessions', sessionId)));
    });

    it('ends nothing of a program that has the pid of a background command whose subshell is gone', async () => {
      const { commandId, pid = 0 } = await first.start({ sessionId, command: 'sleep 300', background: true });
      await noted('["subshell",1');
      const subshell = statusOf(pid)?.parent;
      await first.call('leave', undefined);
      const other = spawn('bash', ['-c', 'sleep 300 & wait'], { stdio: 'ignore' });
      const { pid: taken = 0 } = other;
      try {
        await until('the other program has a child', () => childrenOf(taken).length === 1);
        const [child = 0] = childrenOf(taken);
        for (const one of [subshell ?? 0, pid, ...childrenOf(pid)]) process.kill(one, 'SIGKILL');
        await until('the command is gone', () => !isAlive(pid));
        const text = readFileSync(journal(), 'utf8').replace(
          `["subshell",1,{"pid":${subshell},`,
          `["subshell",1,{"pid":${taken},`,
        );
        assert.ok(text.includes(`{"pid":${taken},`));
        writeFileSync(journal(), `${text}["interrupted",1,"cancelled"]\n`);
        const engine = await succession.next();
        assert.equal((await whole(engine, commandId)).outcome, 'cancelled');
        assert.deepEqual([isAlive(taken), isAlive(child)], [true, true]);
        process.kill(child, 'SIGKILL');
      } finally {
        other.kill('SIGKILL');
      }
    });

    const noted = (record: string) =>
      until(`${record} is noted`, () => readFileSync(journal(), 'utf8').includes(record));
    const journal = () => join(succession.runtimeDir, 'sessions', sessionId, 'journal');
    /** As if the one command had begun so much earlier. Nobody but a sidecar that is to come may know of it. */
    const beganEarlier = (byMs: number) => {
      const earlier = (_: string, before: string, began: string) => `${before}${Number(began) - byMs}`;
      const text = readFileSync(journal(), 'utf8');
      writeFileSync(journal(), text.replace(/("monotonic":)(-?\d+)/g, earlier));
    };
    const stopShell = async () => {
      const pid = shellPid();
      process.kill(pid, 'SIGSTOP');
      // Until then it may still read what it is sent.
      await until('the shell is stopped', () => statusOf(pid)?.state === 'T');
    };
    /** Starts a command that may end the shell, which is stopped and so does not save its state before. */
    const waitsForSnapshot = async (params: Parameters<KillableEngine['start']>[0]): Promise<string> => {
      const text = join(succession.runtimeDir, 'sessions', sessionId, 'c');
      for (let times = 0; times < 20; times++) {
        await first.run({ sessionId, command: 'changed=1' });
        await stopShell();
        const { commandId } = await first.start(params);
        const isBegun = readFileSync(journal(), 'utf8').includes(`["began",${commandId.split(':')[1]},`);
        if (isBegun && !readFileSync(text, 'utf8').includes(params.command)) return commandId;
        // The session was idle for so long that its state was saved before, or was about to be.
        process.kill(shellPid(), 'SIGCONT');
        await first.call('cancel', { commandId });
      }
      throw new Error('The machine was too slow every time.');
    };
    const sessionDirectories = () => readdirSync(join(succession.runtimeDir, 'sessions'));
    const shellPid = (): number => {
      const condition = readFileSync(journal(), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('["condition"'))
        .at(-1);
      return JSON.parse(condition ?? '')[1].shell.pid;
    };
  });
}
