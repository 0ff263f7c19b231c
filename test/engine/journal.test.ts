import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../../sidecar/engine/journal';
import { until } from '../helpers/engine';

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

  it('that could not be written is written anew', () => {
    symlinkSync('/dev/full', path);
    const journal = open();
    note(journal, 'one');
    assert.equal(troubles, 1);
    assert.equal(written(), 'one\n');
    note(journal, 'two');
    assert.equal(written(), 'one\ntwo\n');
    journal.close();
  });

  it('is not there while it cannot be written, and whole again as soon as it can be', async () => {
    symlinkSync('/dev/full', path);
    mkdirSync(`${path}.new`);
    const journal = open();
    note(journal, 'one');
    assert.ok(!existsSync(path));
    note(journal, 'two');
    assert.equal(troubles, 1);
    await until('it is there', () => existsSync(path));
    assert.equal(written(), 'one\ntwo\n');
    journal.close();
  });

  it('that another sidecar left stays when there is no room to write it anew', () => {
    writeFileSync(path, 'one\ncut sho');
    const journal = open();
    mkdirSync(`${path}.new`);
    journal.noteLine('two');
    journal.rewrite();
    assert.equal(written(), 'one\ncut sho\ntwo\n');
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

  it('is written as it is told, since all of it may be more than a string can hold', () => {
    const line = 'x'.repeat(2 * 1024 * 1024);
    const sizes: number[] = [];
    function* everything() {
      for (let n = 0; n < 3; n++) {
        yield line;
        sizes.push(statSync(`${path}.new`).size);
      }
    }
    const journal = new Journal(path, everything, () => troubles++);
    journal.rewrite();
    const each = line.length + 1;
    assert.deepEqual([...sizes, statSync(path).size], [each, 2 * each, 3 * each, 3 * each]);
    journal.close();
  });

  it('stays as it is when it cannot be told anew', () => {
    let isTold = false;
    function* everything() {
      if (isTold) throw new RangeError('Invalid string length');
      isTold = true;
      yield 'one';
    }
    const journal = new Journal(path, everything, () => troubles++);
    journal.rewrite();
    journal.noteLine('two');
    journal.rewrite();
    assert.equal(written(), 'one\ntwo\n');
    assert.deepEqual([existsSync(`${path}.new`), troubles], [false, 0]);
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
