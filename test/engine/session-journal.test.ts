import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Command } from '../../sidecar/engine/command';
import { readSavedSession } from '../../sidecar/engine/saved-session';
import { SessionJournal } from '../../sidecar/engine/session-journal';
import { CommandLog } from '../../sidecar/output/command-log';
import { CommandOutput } from '../../sidecar/output/command-output';

describe('The journal of a session in which one command prints and prints', () => {
  let directory: string;
  let path: string;
  let journal: SessionJournal;
  let output: CommandOutput;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    path = join(directory, 'journal');
    const budget = { perCommand: 0, take: () => true, giveBack: () => {}, keep: () => false, settled: () => {} };
    output = new CommandOutput(new CommandLog(join(directory, '1'), '.log', budget), 1000);
    const command = new Command(
      's-1',
      1,
      {
        text: 'yes',
        background: false,
        origin: 'test',
        stdin: { kind: 'none' },
        overrides: undefined,
        timeoutMs: undefined,
        maxOutputBytes: 1000,
      },
      output,
    );
    const subject = {
      foundation: { shell: '/bin/bash', profile: 'clean' as const, cwd: '/', env: {}, envKeys: [], createdAt: 0 },
      condition: () => ({
        name: 'mine',
        restarts: 0,
        notes: [],
        cwd: '/',
        snapshotUpTo: -1,
        mayTrap: false,
        mayInline: true,
        isShadowed: false,
        keepers: [],
      }),
      commands: () => [command],
    };
    journal = new SessionJournal(path, subject, (error) => assert.fail(String(error)));
    journal.rewrite();
  });
  afterEach(() => {
    journal.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const saved = () => readSavedSession(path)?.commands[0];

  it('does not grow with it, and knows every piece that can be asked for', async () => {
    const notes = journal.chunksOf(1);
    const pieces = 600_000;
    for (let n = 1; n <= pieces; n++) {
      output.bytes.stdout += 2;
      output.index.add('stdout', 2, n * 6, 0);
      notes.indexed('stdout', 2, n * 6, 0, false);
      if (n % 100 === 0) await turn();
    }
    journal.flush();
    // The notes of all of them would take 20 MB.
    assert.ok(statSync(path).size < 12_000_000, `${statSync(path).size} bytes`);
    const { dropped, chunks = [] } = saved() ?? {};
    const before = dropped?.stdout ?? 0;
    assert.ok(chunks.length >= 32_768, `${chunks.length} pieces`);
    assert.deepEqual(
      [(dropped?.first ?? 1) - 1 + chunks.length, before + chunks.length * 2, chunks.at(-1)],
      [pieces, pieces * 2, { stream: 'stdout', size: 2, logEnd: pieces * 6, time: 0 }],
    );
  });

  it('tells every piece in little room when it is written anew', () => {
    const pieces = 10_000;
    for (let n = 1; n <= pieces; n++) {
      const stream = n % 3 === 0 ? 'stderr' : 'stdout';
      // The clock may be set back.
      output.index.add(stream, n, n * 10, n === 7 ? 1_700_000_000_000 : 1_800_000_000_000 + n);
      output.bytes[stream] += n;
    }
    journal.rewrite();
    assert.deepEqual(saved()?.chunks, [...output.index.pieces()]);
    assert.ok(statSync(path).size < 20 * pieces, `${statSync(path).size} bytes`);
  });

  it('does not grow with what is in no log, and knows how much that is', async () => {
    output.log.resume(false, 0, 'the disk is full');
    const notes = journal.chunksOf(1);
    const size = 70_000;
    for (let n = 1; n <= 20_000; n++) {
      output.bytes.stderr += size;
      output.unlogged += size;
      notes.unlogged(output, size, false);
      if (n % 100 === 0) await turn();
    }
    assert.ok(statSync(path).size < 400 * 1024, `${statSync(path).size} bytes`);
    const all = 20_000 * size;
    assert.deepEqual(saved()?.totals, { stdout: 0, stderr: all, unlogged: all, stopped: 'the disk is full' });
  });
});
