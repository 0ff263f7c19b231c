import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Channel, type Record4 } from '../../sidecar/engine/channel';
import { SessionDirectories, SessionDirectory } from '../../sidecar/engine/session-directory';
import { Snapshots } from '../../sidecar/engine/snapshots';
import { until } from '../helpers/engine';
import { processesHolding } from '../helpers/processes';

describe("A session's directory", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'limpet-test-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('leaves nobody behind that keeps FIFOs when it cannot be taken', async () => {
    const directories = new SessionDirectories(root);
    mkdirSync(join(root, 's-1', 'taken'), { recursive: true });
    await assert.rejects(directories.take('s-1'));
    await until('its keeper is gone', () => processesHolding(root).length === 0);
    assert.deepEqual(readdirSync(root), ['s-1']);
    await directories.dispose();
  });

  it('does without a snapshot that cannot be put in its place', () => {
    const directory = new SessionDirectory(root, []);
    const snapshots = new Snapshots(directory);
    writeFileSync(directory.file('snapshot.new'), 'x=1');
    mkdirSync(directory.file('snapshot'));
    snapshots.complete(7);
    assert.equal(snapshots.upTo, 0);
  });
});

describe('A channel that can be read no more', () => {
  it('takes no other file for its own, and still has what the shell said', () => {
    const root = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    const fifo = (name: string) => join(root, name);
    execFileSync('mkfifo', ['in', 'ctl', 'other'].map(fifo));
    const records: Record4[] = [];
    const channel = new Channel(fifo('in'), fifo('ctl'), (record) => records.push(record));
    const other = openSync(fifo('other'), constants.O_RDWR | constants.O_NONBLOCK);
    const record = (kind: string) => `${[`\x01=${kind}`, '1', '0', '/'].join('\0')}\0`;
    const opened: number[] = [];
    try {
      // No test can make a read fail; what comes of it is this.
      Reflect.get(channel, 'socket').destroy();
      for (let n = 0; n < 3; n++) opened.push(openSync(fifo('other'), constants.O_RDONLY | constants.O_NONBLOCK));
      writeFileSync(other, record('O'));
      writeFileSync(fifo('ctl'), record('D'));
      channel.drainRecords();
      assert.deepEqual(records, [['D', '1', '0', '/']]);
    } finally {
      channel.dispose();
      for (const fd of [other, ...opened]) closeSync(fd);
      rmSync(root, { recursive: true, force: true });
    }
  });
});
