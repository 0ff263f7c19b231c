import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fastDirectory } from '../directory';
import { openEngine } from '../engine';
import { median, milliseconds } from '../measure';
import { drainPipe, drainSpawned } from '../rivals/raw-pipe';
import { figure, type Row } from '../table';

const megabyte = 1_000_000;
const rounds = 5;

/** How fast large output is captured, labelled and logged. */
export async function throughput(): Promise<Row[]> {
  // Not on disk, so that the source is never what is measured.
  const directory = await fastDirectory('source');
  try {
    const long = join(directory, 'long');
    fill(long, `${'x'.repeat(59)}\n`, 300 * megabyte);
    const short = join(directory, 'short');
    fill(short, 'x\n', 60 * megabyte);
    return [
      ...(await compare('300 MB of 60-byte lines', long, 300 * megabyte, 0.4)),
      ...(await compare('60 MB of 2-byte lines', short, 60 * megabyte, 0.15)),
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function compare(what: string, file: string, bytes: number, atLeast: number): Promise<Row[]> {
  const { engine, directory, dispose } = await openEngine();
  const rates: Record<'ours' | 'pipe' | 'spawned', number[]> = { ours: [], pipe: [], spawned: [] };
  const rate = (took: number) => bytes / megabyte / (took / 1000);
  const command = `cat ${file}`;
  try {
    const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
    for (let round = 0; round < rounds; round++) {
      rates.pipe.push(rate(await milliseconds(async () => assert.equal(await drainPipe(command), bytes))));
      rates.ours.push(
        rate(
          await milliseconds(async () => assert.equal((await engine.run({ sessionId, command })).stdoutBytes, bytes)),
        ),
      );
      rates.spawned.push(rate(await milliseconds(async () => assert.equal(await drainSpawned(command), bytes))));
    }
  } finally {
    await dispose();
  }
  const [ours, pipe, spawned] = [median(rates.ours), median(rates.pipe), median(rates.spawned)];
  const row = (rival: string, theirs: number): Row => ({
    what: `${what}, against ${rival}`,
    ours: figure(ours, 'MB/s'),
    rival: figure(theirs, 'MB/s'),
    ratio: ours / theirs,
  });
  return [{ ...row('a raw pipe', pipe), target: { atLeast } }, row("spawn's stdout, thrown away", spawned)];
}

function fill(path: string, line: string, bytes: number): void {
  const block = Buffer.from(line.repeat(Math.ceil(megabyte / line.length)));
  const whole = block.subarray(0, block.length - (block.length % line.length));
  const fd = openSync(path, 'w', 0o600);
  for (let left = bytes; left > 0; left -= Math.min(left, whole.length))
    writeSync(fd, whole, 0, Math.min(left, whole.length));
  closeSync(fd);
}
