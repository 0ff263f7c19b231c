import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fastDirectory } from '../directory';
import { assertDone, openEngine } from '../engine';
import { type Contender, takeTurns } from '../measure';
import { type Drain, pipeReady, spawnedReady, withOneBuffer } from '../rivals/raw-pipe';
import { figure, type Row } from '../table';

const megabyte = 1_000_000;
const rounds = 8;
const warmUps = 1;

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
  const command = `cat ${file}`;
  try {
    const { sessionId } = await engine.createSession({ shell: 'bash', cwd: directory });
    const run = async () => {
      const result = await engine.run({ sessionId, command });
      // Its notes would tell of a log that does not have all of it.
      assertDone(result);
      assert.equal(result.stdoutBytes, bytes);
    };
    const [ours = Number.NaN, ...theirs] = await takeTurns(
      [
        { name: 'limpet', once: run },
        drained('a raw pipe', bytes, () => pipeReady(command)),
        drained("spawn's stdout", bytes, () => spawnedReady(command)),
        drained('a raw pipe into one buffer', bytes, () => pipeReady(command, withOneBuffer)),
      ],
      rounds,
      warmUps,
    );
    const [pipe = Number.NaN, spawned = Number.NaN, oneBuffer = Number.NaN] = theirs;
    const rate = (took: number) => bytes / megabyte / (took / 1000);
    const row = (rival: string, took: number): Row => ({
      what: `${what}, against ${rival}`,
      ours: figure(rate(ours), 'MB/s'),
      rival: figure(rate(took), 'MB/s'),
      ratio: rate(ours) / rate(took),
    });
    return [
      { ...row('a raw pipe', pipe), target: { atLeast } },
      row("spawn's stdout, thrown away", spawned),
      row('a raw pipe into one buffer', oneBuffer),
    ];
  } finally {
    await dispose();
  }
}

/** Everything a contender needs is there before its time begins, as a session is. */
function drained(name: string, bytes: number, ready: () => Promise<Drain>): Contender {
  let drain: Drain;
  return {
    name,
    async prepare() {
      drain = await ready();
    },
    once: async () => assert.equal(await drain(), bytes),
  };
}

function fill(path: string, line: string, bytes: number): void {
  const block = Buffer.from(line.repeat(Math.ceil(megabyte / line.length)));
  const whole = block.subarray(0, block.length - (block.length % line.length));
  const fd = openSync(path, 'w', 0o600);
  for (let left = bytes; left > 0; left -= Math.min(left, whole.length))
    writeSync(fd, whole, 0, Math.min(left, whole.length));
  closeSync(fd);
}
