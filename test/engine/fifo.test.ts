import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FifoReader } from '../../sidecar/output/fifo';

describe('Reading a FIFO', () => {
  let directory: string;
  let path: string;
  let writer: number;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    path = join(directory, 'fifo');
    execFileSync('mkfifo', [path]);
    writer = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  });
  afterEach(() => {
    closeSync(writer);
    rmSync(directory, { recursive: true, force: true });
  });

  it('takes all that was in it and comes to an end, although as much is printed as is read', () => {
    const piece = Buffer.alloc(16 * 1024, 'y');
    const reader = new FifoReader(path);
    let taken = 0;
    reader.open((data) => {
      taken += data.length;
      if (taken > 64 * 1024 * 1024) throw new Error('It goes on for ever.');
      for (let left = data.length; left > 0; left -= writeSync(writer, piece, 0, Math.min(left, piece.length)));
    });
    const capacity = 64 * 1024;
    for (let left = capacity; left > 0; left -= writeSync(writer, piece, 0, Math.min(left, piece.length)));
    assert.equal(reader.drain(), 'open');
    assert.ok(taken >= capacity, `${taken} bytes were taken`);
    reader.close();
  });
});
