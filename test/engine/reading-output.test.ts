import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Params } from '../../protocol/methods';
import type { OutputChunk, StreamName } from '../../protocol/values';
import { CommandOutput } from '../../sidecar/output/command-output';
import { LogStore } from '../../sidecar/output/log-store';
import { readOutput } from '../../sidecar/output/read-output';
import { bytesOf, forEachShell } from '../helpers/engine';

type Query = Omit<Params<'exec.output'>, 'commandId'>;
type Printed = readonly [stream: StreamName, data: string | Uint8Array];

describe('Reading output', () => {
  let directory: string;
  let logs: LogStore;
  let number = 0;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    const limits = { maxLogBytesPerCommand: 100_000_000, maxLogBytesTotal: 1_000_000_000 };
    logs = new LogStore({ stateDir: directory, runtimeDir: directory }, limits);
    logs.makeDirectory('s-1');
  });
  after(() => {
    logs.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  /** An output of these pieces. */
  const outputOf = (pieces: readonly Printed[]) => {
    const output = new CommandOutput(logs.create('s-1', ++number), 1000);
    for (const [stream, data] of pieces) output.write(stream, Buffer.from(data));
    output.end();
    return output;
  };
  const read = (output: CommandOutput, query: Query) => readOutput(output, { commandId: 's-1:1', ...query });
  /** What is shown of these pieces, as text, and how much is counted as left out. */
  const shown = async (pieces: readonly Printed[], query: Query) => {
    const { chunks, droppedBytes } = await read(outputOf(pieces), query);
    return [chunks.map(({ data }) => data).join(''), droppedBytes];
  };

  describe('from a cursor', () => {
    it('gives every byte once, whatever max_bytes is', async () => {
      const stream = fc.constantFrom<StreamName>('stdout', 'stderr');
      const data = fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.string({ unit: 'binary', maxLength: 20 }).map((text) => Buffer.from(text)),
      );
      const pieces = fc.array(fc.tuple(stream, data), { maxLength: 12 });
      const chosen = fc.constantFrom<Query>({}, { stream: 'stdout' }, { stream: 'stderr' });
      await fc.assert(
        fc.asyncProperty(pieces, fc.integer({ min: 1, max: 60 }), chosen, async (printed, maxBytes, query) => {
          const output = outputOf(printed);
          const received: OutputChunk[] = [];
          for (let fromSeq = 0; ; ) {
            const { chunks, nextSeq, droppedBytes } = await read(output, { ...query, fromSeq, maxBytes });
            assert.equal(droppedBytes, 0);
            const length = bytesOf(chunks).length;
            assert.ok(length <= maxBytes || (chunks.length === 1 && length <= 4), 'only one character may be more');
            if (nextSeq === fromSeq || chunks.length === 0) break;
            received.push(...chunks);
            fromSeq = nextSeq;
          }
          for (const name of ['stdout', 'stderr'] as const) {
            const isWanted = query.stream === undefined || query.stream === name;
            const expected = isWanted ? printed.filter(([each]) => each === name).map(([, bytes]) => bytes) : [];
            const actual = bytesOf(received.filter((chunk) => chunk.stream === name));
            assert.deepEqual([...actual], [...Buffer.concat(expected)], name);
          }
        }),
      );
    });

    it('gives a piece that is larger than max_bytes in parts, and never a part of a character', async () => {
      const output = outputOf([
        ['stdout', 'a'],
        ['stdout', 'longé€'],
        ['stdout', 'b'],
      ]);
      const answers = [];
      for (let fromSeq = 1; fromSeq <= 3; ) {
        const { chunks, nextSeq, droppedBytes } = await read(output, { fromSeq, maxBytes: 2 });
        answers.push([chunks.map(({ data }) => data), Math.floor(nextSeq), droppedBytes]);
        fromSeq = nextSeq;
      }
      assert.deepEqual(answers, [
        [['a'], 2, 0],
        [['lo'], 2, 0],
        [['ng'], 2, 0],
        [['é'], 2, 0],
        [['€'], 3, 0],
        [['b'], 4, 0],
      ]);
    });
  });

  describe('as the last lines', () => {
    const lines: Printed[] = [['stdout', 'first\nlast']];

    it('counts what max_bytes leaves out of them', async () => {
      assert.deepEqual(await shown(lines, { tailLines: 2, maxBytes: 2 }), ['st', 8]);
      assert.deepEqual(await shown(lines, { tailLines: 1, maxBytes: 2 }), ['st', 2]);
      assert.deepEqual(await shown(lines, { tailLines: 1, maxBytes: 4 }), ['last', 0]);
      assert.deepEqual(await shown(lines, { tailLines: 2, maxBytes: 10 }), ['first\nlast', 0]);
    });

    it('counts it also in pieces of which nothing is shown', async () => {
      const pieces: Printed[] = [
        ['stdout', 'zero\non'],
        ['stdout', 'e\n'],
        ['stderr', 'two\n'],
        ['stdout', 'three\n'],
      ];
      assert.deepEqual(await shown(pieces, { tailLines: 3, maxBytes: 6 }), ['three\n', 8]);
      assert.deepEqual(await shown(pieces, { tailLines: 3, maxBytes: 8 }), ['o\nthree\n', 6]);
      assert.deepEqual(await shown(pieces, { tailLines: 2, maxBytes: 6, stream: 'stdout' }), ['three\n', 4]);
      assert.deepEqual(await shown(pieces, { tailLines: 9, maxBytes: 6 }), ['three\n', 13]);
      assert.deepEqual(await shown(pieces, { tailLines: 1, maxBytes: 6 }), ['three\n', 0]);
    });

    it('never begins within a character, and shows nothing that is not next to what it shows', async () => {
      const euros: Printed[] = [
        ['stdout', 'x'],
        ['stdout', '€€'],
      ];
      const cut = [];
      for (let maxBytes = 1; maxBytes <= 7; maxBytes++) cut.push(await shown(euros, { tailLines: 1, maxBytes }));
      assert.deepEqual(cut, [
        ['', 7],
        ['', 7],
        ['€', 4],
        ['€', 4],
        ['€', 4],
        ['€€', 1],
        ['x€€', 0],
      ]);
    });

    it('looks back only so far to count lines that have no end', async () => {
      const piece = Buffer.alloc(60_000, 'a');
      const output = outputOf(Array.from({ length: 100 }, () => ['stdout', piece]));
      let bytesRead = 0;
      const readPiece = output.read.bind(output);
      output.read = (place) => {
        bytesRead += place.size;
        return readPiece(place);
      };
      const { chunks, droppedBytes } = await read(output, { tailLines: 40, maxBytes: 16_384 });
      assert.equal(bytesOf(chunks).length, 16_384);
      assert.ok(droppedBytes > 900_000, 'much is counted');
      assert.ok(bytesRead < 1_200_000, 'most is not looked at');
    });
  });

  describe('as the lines that match', () => {
    const numbers: Printed[] = [
      ['stdout', 'a1\nb\na2\na'],
      ['stderr', 'a-err\n'],
      ['stdout', '3\na4\n'],
    ];

    it('is bounded by max_bytes together with tail_lines: the newest are kept, the rest is counted', async () => {
      const last = (tailLines: number, maxBytes: number) =>
        shown(numbers, { grep: '^a', tailLines, maxBytes, stream: 'stdout' });
      assert.deepEqual(await last(2, 100), ['a3\na4\n', 0]);
      assert.deepEqual(await last(3, 6), ['a3\na4\n', 3]);
      assert.deepEqual(await last(3, 8), ['a3\na4\n', 3]);
      assert.deepEqual(await last(9, 3), ['a4\n', 9]);
      assert.deepEqual(await last(9, 12), ['a1\na2\na3\na4\n', 0]);
      assert.deepEqual(await last(1, 2), ['', 3]);
      assert.deepEqual(await last(0, 100), ['', 0]);
    });

    it('keeps none before one that did not fit, and counts none that is not among the last', async () => {
      const pieces: Printed[] = [['stdout', 'a\nlong line with a\na\na\n']];
      assert.deepEqual(await shown(pieces, { grep: 'a', tailLines: 4, maxBytes: 6 }), ['a\na\n', 19]);
      assert.deepEqual(await shown(pieces, { grep: 'a', tailLines: 2, maxBytes: 4 }), ['a\na\n', 0]);
    });

    it('is bounded by max_bytes alone: the oldest are kept, the rest is counted', async () => {
      assert.deepEqual(await shown(numbers, { grep: '^a', maxBytes: 6, stream: 'stdout' }), ['a1\na2\n', 6]);
    });

    it('keeps the last of many', async () => {
      const many = Array.from({ length: 60_000 }, (_, line) => `${line}\n`);
      const pieces: Printed[] = [
        ['stdout', many.slice(0, 30_000).join('')],
        ['stdout', many.slice(30_000).join('')],
      ];
      const query = { grep: '.', tailLines: 20_000 };
      assert.deepEqual(await shown(pieces, query), [many.slice(-20_000).join(''), 0]);
      assert.deepEqual(await shown(pieces, { ...query, maxBytes: 60 }), [many.slice(-10).join(''), 19_990 * 6]);
    });
  });
});

forEachShell('Reading the output of a command', (suite) => {
  it('gives all of it in steps that are smaller than its pieces', async () => {
    const { commandId } = await suite.session.run('head -c 300000 /dev/urandom | tee copy | cat');
    const chunks = [];
    for (let fromSeq = 0; ; ) {
      const answer = await suite.opened.engine.output({ commandId, fromSeq, maxBytes: 50_000 });
      assert.equal(answer.droppedBytes, 0);
      if (answer.chunks.length === 0) break;
      chunks.push(...answer.chunks);
      fromSeq = answer.nextSeq;
    }
    const { stdout } = await suite.session.run('cat copy', { maxOutputBytes: 1_000_000 });
    assert.equal(bytesOf(chunks).toString('base64'), stdout);
  });
});
