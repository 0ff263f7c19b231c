import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../../sidecar/engine/engine';
import { shells, until } from '../helpers/engine';
import { type KillableEngine, Succession } from '../helpers/killable-engine';
import { processesHolding } from '../helpers/processes';

for (const shell of shells) {
  describe(`Sessions whose sidecar is gone, in ${shell}`, () => {
    let succession: Succession;
    let first: KillableEngine;
    let cwd: string;
    let sessionId: string;
    let pid: number | null;

    beforeEach(async () => {
      succession = await Succession.begin();
      first = await succession.killable();
      cwd = join(succession.root, 'work');
      await mkdir(cwd);
      ({ sessionId, pid } = await first.create({ shell, cwd }));
    });
    afterEach(() => succession.end());

    const gate = () => join(cwd, 'gate');
    /** Prints when its gate is removed. */
    const held = 'echo before; : > gate; while [ -e gate ]; do sleep 0.01; done; echo after; (exit 5)';
    const start = async (on: Pick<KillableEngine, 'start' | 'wait'>, command = held) => {
      const { commandId } = await on.start({ sessionId, command });
      await on.wait({ commandId, until: [{ output: 'before' }], timeoutMs: 20_000 });
      await until('it waits', () => existsSync(gate()));
      return commandId;
    };
    const finish = async (engine: Engine, commandId: string) => {
      rmSync(gate(), { force: true });
      const { exitCode, stdout, notes } = await engine.wait({ commandId, timeoutMs: 20_000 });
      return { exitCode, stdout, notes };
    };
    const lossNote = /up to 64 KiB of each stream may be missing/;

    it('say of a command that ran when it was killed that a read may be missing, also after a hand-over', async () => {
      const commandId = await start(first);
      await first.kill();
      const second = await succession.killable();
      await second.call('leave', undefined);
      const { exitCode, stdout, notes } = await finish(await succession.next(), commandId);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 5, stdout: 'before\nafter\n' });
      assert.match(notes?.join() ?? '', lossNote);
    });

    it('say nothing of a loss after a hand-over, which loses nothing', async () => {
      const commandId = await start(first);
      await first.call('leave', undefined);
      assert.deepEqual(await finish(await succession.next(), commandId), {
        exitCode: 5,
        stdout: 'before\nafter\n',
        notes: [],
      });
    });

    it('keep what is printed while no sidecar is there, although those that kept it were killed once', async () => {
      const directory = join(succession.runtimeDir, 'sessions', sessionId);
      await first.kill();
      const keepers = processesHolding(directory).filter((holder) => holder !== pid);
      assert.notDeepEqual(keepers, []);
      for (const keeper of keepers) process.kill(keeper, 'SIGKILL');
      const second = await succession.killable();
      await until('it is kept again', () => processesHolding(directory).length > 2);
      const command = held.replace('echo after', "printf '%15190s' x; : > over");
      const commandId = await start(second, command);
      await second.kill();
      rmSync(gate());
      await until('it is over', () => existsSync(join(cwd, 'over')));
      const { exitCode, stdout } = await finish(await succession.next(), commandId);
      assert.deepEqual({ exitCode, bytes: stdout?.length }, { exitCode: 5, bytes: 'before\n'.length + 15190 });
    });

    it('still say that a command could not be given its environment, and was not run', async () => {
      await first.run({ sessionId, command: 'readonly RO=1' });
      // The first record is the refusal, the second the report.
      const isHeld = await first.holdAt('record-read', join(succession.root, 'mark'), 1);
      first.ask('run', { sessionId, command: ': > ran', env: { RO: 'x' } });
      await isHeld();
      await first.kill();
      const engine = await succession.next();
      const [last] = engine.listCommands({ sessionId }).commands.slice(-1);
      await assert.rejects(engine.wait({ commandId: last?.commandId ?? '', timeoutMs: 20_000 }), {
        code: 'invalid_params',
      });
      assert.ok(!existsSync(join(cwd, 'ran')));
    });

    it('restore what was set right before a hand-over when the shell is killed right after it', async () => {
      await first.run({ sessionId, command: 'kept=here' });
      await first.call('leave', undefined);
      const engine = await succession.next();
      assert.equal((await engine.run({ sessionId, command: 'kill -9 $$' })).outcome, 'shell_exited');
      assert.equal((await engine.run({ sessionId, command: 'echo $kept' })).stdout, 'here\n');
    });
  });
}
