import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Params } from '../../protocol/methods';
import type { OutputChunk, StreamEvent, StreamName } from '../../protocol/values';
import { CommandLog, type LogBudget } from '../../sidecar/output/command-log';
import { CommandOutput } from '../../sidecar/output/command-output';
import { follow } from '../../sidecar/output/follow';
import { readOutput } from '../../sidecar/output/read-output';
import { bytesOf, forEachShell } from '../helpers/engine';
import { temporaryLogs } from '../helpers/logs';

type Query = Omit<Params<'exec.output'>, 'commandId'>;
type Printed = readonly [stream: StreamName, data: string | Uint8Array];

describe('Reading output', () => {
  const logs = temporaryLogs();

  /** An output of these pieces, in a log with so much room. */
  const outputOf = (pieces: Iterable<Printed>, room?: number) => {
    const log = logs.next();
    const output = new CommandOutput(room === undefined ? log : new CommandLog(log.stem, '.log', budgetOf(room)), 1000);
    for (const [stream, data] of pieces) output.write(stream, Buffer.from(data));
    output.end();
    return output;
  };
  const budgetOf = (perCommand: number): LogBudget => ({
    perCommand,
    take: () => true,
    giveBack: () => {},
    keep: () => false,
    settled: () => {},
  });
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

    it('is one chunk for each piece, so that many short lines are no larger than a few long ones', async () => {
      const output = outputOf(Array.from({ length: 40 }, () => ['stdout', 'a\nb\n'.repeat(5000)]));
      const first = await read(output, { grep: 'a' });
      const last = await read(output, { grep: 'a', tailLines: 200_000 });
      for (const { chunks, droppedBytes } of [first, last]) {
        assert.deepEqual(
          chunks.map(({ seq, data }) => [seq, data === 'a\n'.repeat(5000)]),
          Array.from({ length: 40 }, (_, index) => [index + 1, true]),
        );
        assert.equal(droppedBytes, 0);
      }
    });

    it('are found beside lines that are no text, and those too', async () => {
      const [bytes, text] = [Buffer.from('\xff caf\n', 'latin1'), 'café\n'];
      const piece = Buffer.concat([Buffer.from(`${text}other\n`), bytes, bytes, Buffer.from(text)]);
      const found = async (grep: string) =>
        bytesOf((await read(outputOf([['stdout', piece]]), { grep })).chunks).toString('latin1');
      const inBytes = Buffer.from(text).toString('latin1');
      assert.equal(await found('café$'), inBytes + inBytes);
      assert.equal(await found('^caf.$'), inBytes + inBytes);
      assert.equal(await found('caf'), inBytes + '\xff caf\n'.repeat(2) + inBytes);
      assert.equal(await found('\\xff'), '\xff caf\n'.repeat(2));
    });

    it('looks at the first mebibyte of a line and counts the rest of it', async () => {
      const mebibyte = 1024 * 1024;
      const endless: Printed[] = Array.from({ length: 100 }, () => ['stdout', 'x'.repeat(60_000)]);
      const whole = 100 * 60_000;
      const around: Printed[] = [['stdout', 'before\n'], ...endless, ['stdout', 'end\nafter\n']];
      assert.deepEqual(await shown(endless, { grep: 'y' }), ['', whole - (mebibyte - 1)]);
      assert.deepEqual(await shown(around, { grep: 'end' }), ['', whole + 3 - (mebibyte - 1)]);
      assert.deepEqual(await shown(around, { grep: 'e', tailLines: 1 }), ['after\n', whole + 3 - (mebibyte - 1)]);
      const [text, droppedBytes] = await shown(around, { grep: '.', maxBytes: 2 * mebibyte });
      assert.equal(text, `before\n${'x'.repeat(mebibyte - 1)}\nafter\n`);
      assert.equal(droppedBytes, whole + 3 - (mebibyte - 1));
    });

    it('never cuts a line that is too long within a character', async () => {
      const euros: Printed[] = Array.from({ length: 30 }, () => ['stdout', '€'.repeat(20_000)]);
      const { chunks, droppedBytes } = await read(outputOf(euros), { grep: '€$' });
      const kept = Math.floor((1024 * 1024 - 1) / 3);
      assert.deepEqual(
        [chunks.map(({ data }) => data === '€'.repeat(kept)), droppedBytes],
        [[true], 30 * 60_000 - 3 * kept],
      );
    });

    it('begins within a piece where the cursor before it ended', async () => {
      const output = outputOf([
        ['stdout', 'a1\na2\na3\n'],
        ['stdout', 'a4\n'],
      ]);
      for (const [maxBytes, lines] of [
        [3, 'a2\na3\na4\n'],
        [5, '\na3\na4\n'],
        [8, '\na4\n'],
      ] as const) {
        const { nextSeq: fromSeq } = await read(output, { maxBytes });
        const { chunks, nextSeq, droppedBytes } = await read(output, { fromSeq, grep: 'a|^$' });
        const isWithin = !Number.isInteger(fromSeq);
        const text = chunks.map(({ data }) => data).join('');
        assert.deepEqual([isWithin, text, nextSeq, droppedBytes], [true, lines, 3, 0]);
      }
    });
  });

  describe('of which not all is in the log', () => {
    /** What is in no log: the third and fourth piece. */
    const capped = () =>
      outputOf(
        [
          ['stdout', 'one\n'],
          ['stderr', 'two\n'],
          ['stdout', 'three is too long\n'],
          ['stdout', 'four\n'],
        ],
        20,
      );
    const answer = async (output: CommandOutput, query: Query) => {
      const { chunks, nextSeq, droppedBytes } = await read(output, query);
      return { text: chunks.map(({ data }) => data).join(''), nextSeq, droppedBytes };
    };

    it('counts what is missing, whatever was asked for', async () => {
      const output = capped();
      const nextSeq = 3 + 23;
      const answers = {
        all: await answer(output, {}),
        tail: await answer(output, { tailLines: 1 }),
        noTail: await answer(output, { tailLines: 0 }),
        grep: await answer(output, { grep: 'o' }),
        grepTail: await answer(output, { grep: 'o', tailLines: 1 }),
      };
      assert.deepEqual(answers, {
        all: { text: 'one\ntwo\n', nextSeq, droppedBytes: 23 },
        tail: { text: 'two\n', nextSeq, droppedBytes: 23 },
        noTail: { text: '', nextSeq, droppedBytes: 0 },
        grep: { text: 'one\ntwo\n', nextSeq, droppedBytes: 23 },
        grepTail: { text: 'two\n', nextSeq, droppedBytes: 23 },
      });
    });

    it('counts it once, for whoever goes on from cursor to cursor', async () => {
      const output = capped();
      const first = await answer(output, { maxBytes: 4 });
      assert.deepEqual(first, { text: 'one\n', nextSeq: 2, droppedBytes: 0 });
      const second = await answer(output, { fromSeq: first.nextSeq });
      assert.deepEqual(second, { text: 'two\n', nextSeq: 26, droppedBytes: 23 });
      const { nextSeq: fromSeq } = second;
      const nothing = { text: '', nextSeq: fromSeq, droppedBytes: 0 };
      assert.deepEqual(await answer(output, { fromSeq }), nothing);
      assert.deepEqual(await answer(output, { fromSeq, grep: 'o' }), nothing);
      output.write('stdout', Buffer.from('five\n'));
      const more = { text: '', nextSeq: fromSeq + 5, droppedBytes: 5 };
      assert.deepEqual(await answer(output, { fromSeq }), more);
      assert.deepEqual(await answer(output, { fromSeq, grep: 'o' }), more);
      assert.deepEqual(await answer(output, { fromSeq: more.nextSeq }), { ...more, droppedBytes: 0 });
    });

    it('tells whoever follows only of what is behind the cursor', async () => {
      const output = capped();
      const eventsFrom = async (fromSeq: number) => {
        const events: unknown[] = [];
        const over = { whenFinished: () => () => {}, isFinished: () => true, signal: undefined };
        await follow(output, fromSeq, (event) => void events.push(event), over);
        return events;
      };
      assert.deepEqual(await eventsFrom(2), [
        { event: 'stderr', seq: 2, data: 'two\n' },
        { event: 'gap', seq: 3, droppedBytes: 23 },
      ]);
      assert.deepEqual(await eventsFrom(20), [{ event: 'gap', seq: 20, droppedBytes: 6 }]);
      assert.deepEqual(await eventsFrom(26), []);
    });
  });

  it('counts what has no number any more once for whoever goes on from cursor to cursor, each stream by itself', async () => {
    const most = 65_536;
    const output = new CommandOutput(logs.next(), 1000);
    const print = (count: number) => {
      for (let piece = 0; piece < count; piece++) output.write('stdout', Buffer.from('a\n'));
    };
    print(30_000);
    const first = await read(output, { maxBytes: 1_000_000 });
    print(most - 30_000 + 1);
    const query = { fromSeq: first.nextSeq, maxBytes: 1_000_000 };
    const second = await read(output, query);
    const forgotten = most / 2;
    // It is known exactly only for every so many pieces, and never less is told.
    const { droppedBytes } = second;
    assert.ok(droppedBytes >= 2 * (forgotten - 30_000) && droppedBytes < 2 * (forgotten - 30_000 + 4096));
    assert.equal((await read(output, { ...query, grep: 'a' })).droppedBytes, droppedBytes);
    print(most / 2);
    assert.equal((await read(output, { ...query, fromSeq: second.nextSeq })).droppedBytes, 0);
    for (const of of [{}, { grep: 'a' }, { tailLines: 200_000 }]) {
      assert.equal((await read(output, { ...of, stream: 'stderr' })).droppedBytes, 0);
      assert.equal((await read(output, { ...of, stream: 'stdout' })).droppedBytes, 2 * most);
    }
  });

  it('tells whoever follows slowly once of each piece that has no number any more', async () => {
    const output = new CommandOutput(logs.next(), 1000);
    const print = (count: number) => {
      for (let piece = 0; piece < count; piece++) output.write('stdout', Buffer.from('a\n'));
    };
    const [told, gaps] = [{ bytes: 0 }, [] as number[]];
    const emit = (event: StreamEvent) => {
      if (event.event === 'gap') gaps.push(event.droppedBytes);
      else told.bytes += event.data.length;
      // Two times it is too slow: half of what there was is forgotten meanwhile, and then all it had not yet read of the rest.
      if (told.bytes === 2000 && gaps.length === 0) print(60_000);
      if (told.bytes === 4000 && gaps.length === 1) print(40_000);
    };
    print(10_000);
    await follow(output, 1, emit, { whenFinished: () => () => {}, isFinished: () => true, signal: undefined });
    assert.deepEqual(gaps.length, 2);
    assert.equal(told.bytes + gaps.reduce((sum, bytes) => sum + bytes), output.bytes.stdout);
  });

  it('fails for whoever follows and throws, and for nobody else', async () => {
    const output = new CommandOutput(logs.next(), 1000);
    const over = { whenFinished: () => () => {}, isFinished: () => false, signal: undefined };
    const following = follow(
      output,
      1,
      () => {
        throw new Error('no more');
      },
      over,
    );
    // It waits for output by now.
    await new Promise((resolve) => setImmediate(resolve));
    const heard: string[] = [];
    output.listen({ onOutput: (_, data) => void heard.push(Buffer.from(data).toString()) });
    output.write('stdout', Buffer.from('one\n'));
    await assert.rejects(following, /^Error: no more$/);
    output.write('stdout', Buffer.from('two\n'));
    assert.deepEqual(heard, ['one\n', 'two\n']);
  });

  it('counts what was printed in pieces that have no number any more, if it was asked for', async () => {
    const most = 65_536;
    const pieces = Array.from({ length: most + 1 }, (): Printed => ['stdout', 'a\n']);
    const output = outputOf(pieces);
    const gone = most;
    const counted = async (query: Query) => {
      const { chunks, droppedBytes } = await read(output, query);
      return [bytesOf(chunks).length, droppedBytes];
    };
    assert.deepEqual(await counted({}), [most + 2, gone]);
    assert.deepEqual(await counted({ grep: 'a' }), [most + 2, gone]);
    assert.deepEqual(await counted({ grep: 'a', fromSeq: most }), [4, 0]);
    assert.deepEqual(await counted({ tailLines: most }), [most + 2, gone]);
    assert.deepEqual(await counted({ tailLines: 2 }), [4, 0]);
  });
});

forEachShell('Reading the output of a command', (suite) => {
  it('looks for lines in one that has no end without keeping it in memory', async () => {
    const { commandId } = await suite.session.run("head -c 150000000 /dev/zero | tr '\\0' x");
    const before = process.memoryUsage.rss();
    let most = before;
    const looking = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    });
    const { chunks, droppedBytes } = await suite.opened.engine.output({ commandId, grep: 'y' });
    most = Math.max(most, process.memoryUsage.rss());
    clearInterval(looking);
    assert.deepEqual([chunks, droppedBytes], [[], 150_000_000 - (1024 * 1024 - 1)]);
    assert.ok(most - before < 100_000_000, `${most - before} bytes more while it looked`);
  });

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
