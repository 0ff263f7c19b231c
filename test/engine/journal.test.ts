import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../../sidecar/engine/journal';

describe('A session’s journal', () => {
  let directory = '';
  let path = '';
  let told: string[];
  let troubles: number;
  const open = () =>
    new Journal(
      path,
      () => told,
      () => troubles++,
    );
  const note = (journal: Journal, line: string) => {
    told.push(line);
    journal.noteLine(line);
    journal.flush();
  };
  const written = () => readFileSync(path, 'utf8');

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    path = join(directory, 'journal');
    told = [];
    troubles = 0;
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('that could not be written is not there, and whole again as soon as it can be', () => {
    symlinkSync('/dev/full', path);
    const journal = open();
    note(journal, 'one');
    assert.ok(!existsSync(path));
    assert.equal(troubles, 1);
    note(journal, 'two');
    assert.equal(written(), 'one\ntwo\n');
    note(journal, 'three');
    assert.equal(written(), 'one\ntwo\nthree\n');
    journal.close();
  });

  it('stays as it is when there is no room to write it anew', () => {
    const journal = open();
    note(journal, 'one');
    journal.rewrite();
    journal.noteLine('two');
    mkdirSync(`${path}.new`);
    journal.rewrite();
    assert.equal(written(), 'one\ntwo\n');
    assert.equal(troubles, 0);
    journal.close();
  });

  it('takes nothing any more once it is closed', () => {
    const journal = open();
    note(journal, 'one');
    journal.close();
    note(journal, 'two');
    journal.rewrite();
    assert.equal(written(), 'one\n');
  });
});
