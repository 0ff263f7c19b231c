import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notedExit, notedRefusal, notedStatus } from '../../sidecar/engine/status-file';

describe('What processes note of their end', () => {
  const directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
  const path = join(directory, 'status');
  after(() => rmSync(directory, { recursive: true, force: true }));

  const cases: [text: string, status: number | undefined, exit: number | null][] = [
    ['5 130\nX 77 3\n', 130, 3],
    ['5 1\n5 2\nX 77 3\nX 77 4\n', 2, 4],
    ['5 13', undefined, null],
    ['X 77 1', undefined, null],
    ['5 nonsense\nX 77 \n', undefined, null],
    ['5 \0\0\nX 77 99999\n', undefined, null],
    ['', undefined, null],
  ];
  it('is told apart from why a command was not run', () => {
    writeFileSync(path, 'F 5 2\n5 125\nF 6 1');
    assert.deepEqual([notedRefusal(path, 5), notedStatus(path, 5), notedRefusal(path, 6)], ['2', 125, undefined]);
  });

  for (const [text, status, exit] of cases) {
    it(`is taken from whole lines alone: ${JSON.stringify(text)}`, () => {
      writeFileSync(path, text);
      assert.deepEqual([notedStatus(path, 5), notedExit(path, 77)], [status, exit]);
    });
  }
});
