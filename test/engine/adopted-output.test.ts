import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shells, until } from '../helpers/engine';
import { type KillableEngine, Succession } from '../helpers/killable-engine';
import { parsePrefixLog } from '../helpers/prefix-log';

const room = 100_000;
/** The bytes of `seq 1 50000`. */
const flood = 288_894;

for (const shell of shells) {
  describe(`Adoption of a command whose log takes no more, in ${shell}`, () => {
    let succession: Succession;
    let first: KillableEngine;
    let cwd: string;
    let commandId: string;
    let logPath: string;
    let journal: string;

    beforeEach(async () => {
      succession = await Succession.begin({ maxLogBytesPerCommand: room });
      first = await succession.killable();
      cwd = join(succession.root, 'work');
      await mkdir(cwd);
      const { sessionId } = await first.create({ shell, cwd });
      journal = join(succession.runtimeDir, 'sessions', sessionId, 'journal');
      logPath = join(succession.stateDir, 'sessions', sessionId, '1.log');
      const command = 'seq 1 50000; : >gate; while [ -e gate ]; do sleep 0.01; done; echo end; echo err >&2';
      ({ commandId } = await first.start({ sessionId, command }));
      await until('it has printed', () => existsSync(join(cwd, 'gate')));
    });
    afterEach(() => succession.end());

    const noted = (text: string) => until(`${text} is noted`, () => readFileSync(journal, 'utf8').includes(text));
    const departures = {
      killed: () => first.kill(),
      'handed over': () => first.call('leave', undefined),
    };

    for (const [how, depart] of Object.entries(departures)) {
      it(`by a sidecar that was ${how}: every byte is counted, and none is logged behind the hole`, async () => {
        await noted(`["log-stopped",1,{"stdout":${flood},`);
        const size = statSync(logPath).size;
        const logged = parsePrefixLog(readFileSync(logPath)).stdout.length;
        const before = await first.output({ commandId, maxBytes: 10_000_000 });
        assert.equal(before.droppedBytes, flood - logged);
        await depart();
        const engine = await succession.next();
        assert.equal(engine.listCommands({}).commands[0]?.stdoutBytes, flood);
        await rm(join(cwd, 'gate'));
        const { stdoutBytes, stderrBytes, truncated, stderr, notes = [] } = await engine.wait({ commandId });
        const lost = '\n[limpet: 4 bytes of stderr left out here; they are in no log]\n';
        assert.deepEqual(
          { stdoutBytes, stderrBytes, truncated, stderr },
          { stdoutBytes: flood + 4, stderrBytes: 4, truncated: { stdout: true, stderr: true }, stderr: lost },
        );
        const missing = flood + 8 - logged;
        assert.ok(
          notes.includes(
            `Not all output is in the log: the log reached its limit of ${room} bytes; ${missing} bytes are missing there.`,
          ),
          notes.join(),
        );
        assert.equal(statSync(logPath).size, size);
        const all = await engine.output({ commandId, maxBytes: 10_000_000 });
        const rest = await engine.output({ commandId, fromSeq: before.nextSeq });
        assert.deepEqual([all.droppedBytes, rest.chunks, rest.droppedBytes], [missing, [], 8]);
      });
    }

    it('by one that was killed, with a journal of an earlier version', async () => {
      await noted(`["log-stopped",1,{"stdout":${flood},`);
      await first.kill();
      const lines = readFileSync(journal, 'utf8').split('\n');
      await writeFile(journal, lines.filter((line) => !line.startsWith('["log-stopped"')).join('\n'));
      const engine = await succession.next();
      await rm(join(cwd, 'gate'));
      const { exitCode, stdout = '' } = await engine.wait({ commandId });
      assert.deepEqual([exitCode, stdout.slice(0, 4), stdout.slice(-4)], [0, '1\n2\n', 'end\n']);
    });
  });
}
