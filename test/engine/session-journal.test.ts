import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { type JournalSubject, SessionJournal } from '../../sidecar/engine/session-journal';

describe('The journal of a session in which one command prints and prints', () => {
  it('does not grow with it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    const path = join(directory, 'journal');
    const subject = {
      foundation: {},
      condition: () => ({}),
      commands: () => [],
    } as unknown as JournalSubject;
    const journal = new SessionJournal(path, subject, () => {});
    try {
      journal.rewrite();
      const note = journal.chunksOf(1);
      for (let n = 1; n <= 40_000; n++) {
        note('stdout', 2, n * 6, 0, false);
        if (n % 100 === 0) await turn();
      }
      journal.flush();
      assert.ok(statSync(path).size < 400 * 1024, `${statSync(path).size} bytes`);
    } finally {
      journal.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
