import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { oneRead, Tally } from './tally';

const none = Buffer.alloc(0);
const blob = randomBytes(1024 * 1024);
const without = (text: Buffer, ...ranges: readonly (readonly [from: number, to: number])[]) =>
  ranges.reduceRight((left, [from, to]) => Buffer.concat([left.subarray(0, from), left.subarray(to)]), text);

interface Verdict {
  mismatches: number;
  lost: number;
}

/** What is said of this output after so many kills, the same on both streams. */
function judge(have: Buffer, want: Buffer, kills: number): Verdict {
  const [onStdout, onStderr] = (['stdout', 'stderr'] as const).map((stream) => {
    const tally = new Tally(() => {});
    const of = (bytes: Buffer) => ({ stdout: none, stderr: none, [stream]: bytes });
    tally.sameOutput('output', of(have), of(want), { kills, handOvers: 0 });
    return { mismatches: tally.mismatches, lost: tally.lost[stream] };
  });
  assert.deepEqual(onStdout, onStderr);
  assert.ok(onStdout !== undefined);
  return onStdout;
}

const passes = (have: Buffer, want: Buffer, kills: number) =>
  assert.deepEqual(judge(have, want, kills), { mismatches: 0, lost: want.length - have.length });
const isRefused = (have: Buffer, want: Buffer, kills: number) =>
  assert.equal(judge(have, want, kills).mismatches, 1, `${have.length} of ${want.length} bytes after ${kills} kills`);

describe('Output in the soak', () => {
  it('passes if it is exact', () => {
    passes(blob, blob, 0);
    passes(blob, Buffer.from(blob), 3);
    passes(none, none, 1);
  });

  it('may have one cut for each kill', () => {
    const one = without(blob, [1000, 50_000]);
    const two = without(blob, [1000, 50_000], [300_000, 300_000 + oneRead]);
    passes(one, blob, 1);
    passes(one, blob, 2);
    passes(two, blob, 2);
    isRefused(one, blob, 0);
    isRefused(two, blob, 1);
    isRefused(without(two, [500_000, 500_001]), blob, 2);
  });

  it('may be cut at the start and at the end', () => {
    passes(without(blob, [0, oneRead]), blob, 1);
    passes(without(blob, [blob.length - oneRead, blob.length]), blob, 1);
    passes(without(blob, [0, 10], [blob.length - 1, blob.length]), blob, 2);
    isRefused(without(blob, [0, 10], [blob.length - 1, blob.length]), blob, 1);
    passes(none, blob.subarray(0, oneRead), 1);
  });

  it('may have cuts so close that little is between them', () => {
    passes(without(blob, [0, 60_000], [60_001, 120_000]), blob, 2);
    passes(without(blob, [0, oneRead], [oneRead, 2 * oneRead]), blob, 2);
    passes(without(blob, [blob.length - 100_000, blob.length - 50_000], [blob.length - 49_999, blob.length]), blob, 2);
  });

  it('has no cut larger than one read', () => {
    isRefused(without(blob, [1000, 1001 + oneRead]), blob, 1);
    isRefused(without(blob, [1000, 1001 + oneRead], [400_000, 400_001]), blob, 2);
    passes(without(blob, [1000, 1001 + oneRead]), blob, 2);
    isRefused(none, blob.subarray(0, oneRead + 1), 1);
  });

  it('has no foreign bytes', () => {
    const foreign = Buffer.from(blob);
    foreign.writeUInt8(255 - foreign.readUInt8(5000), 5000);
    for (const kills of [0, 1, 3]) isRefused(foreign, blob, kills);
    for (const kills of [1, 3]) isRefused(without(foreign, [9000, 20_000]), blob, kills);
    isRefused(Buffer.concat([blob.subarray(0, 1000), randomBytes(1000), blob.subarray(2000, 600_000)]), blob, 10);
  });

  it('has no bytes twice and none in another order', () => {
    const twice = Buffer.concat([blob.subarray(0, 70_000), blob.subarray(60_000)]);
    for (const kills of [0, 1, 3]) isRefused(twice, blob, kills);
    isRefused(without(twice, [200_000, 230_000]), blob, 3);
    const turned = Buffer.concat([blob.subarray(0, 1000), blob.subarray(2000, 3000), blob.subarray(1000, 2000)]);
    isRefused(turned, blob.subarray(0, 3500), 3);
  });

  it('finds the cuts of a text that repeats itself', () => {
    const lines = Buffer.from('two words\n'.repeat(9000));
    passes(without(lines, [15, 28]), lines, 1);
    passes(without(lines, [15, 25]), lines, 1);
    passes(without(lines, [3, 5], [13, 15]), lines, 2);
    isRefused(without(lines, [3, 5], [13, 15]), lines, 1);
    passes(Buffer.from('ababac'), Buffer.from('abababxac'), 1);
    passes(Buffer.from('early\n'), Buffer.from('early\nlate\n'), 1);
    passes(Buffer.from('late\n'), Buffer.from('early\nlate\n'), 1);
    isRefused(Buffer.from('late\nearly\n'), Buffer.from('early\nlate\n'), 2);
  });

  it('is judged as by trying out every cut', () => {
    const texts = (length: number) =>
      Array.from({ length: 2 ** length }, (_, n) => Buffer.from(n.toString(2).padStart(length, '0')));
    for (const want of texts(7)) {
      const reachable = [new Set([want.toString()])];
      for (const kills of [1, 2]) {
        const further = new Set(reachable[kills - 1]);
        for (const text of reachable[kills - 1] ?? []) {
          for (let from = 0; from < text.length; from++) {
            for (let to = from + 1; to <= text.length; to++) further.add(text.slice(0, from) + text.slice(to));
          }
        }
        reachable.push(further);
      }
      for (const have of [...texts(4), ...texts(5)]) {
        for (const kills of [0, 1, 2]) {
          const expected = reachable[kills]?.has(have.toString()) === true ? 0 : 1;
          assert.equal(judge(have, want, kills).mismatches, expected, `${have} of ${want} after ${kills} kills`);
        }
      }
    }
  });
});
