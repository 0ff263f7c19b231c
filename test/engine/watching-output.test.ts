import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { StreamName } from '../../protocol/values';
import { CommandOutput } from '../../sidecar/output/command-output';
import { OutputWatch } from '../../sidecar/output/output-watch';
import { Pattern } from '../../sidecar/output/pattern';
import { forEachShell } from '../helpers/engine';
import { temporaryLogs } from '../helpers/logs';

type Printed = readonly [stream: StreamName, text: string];

describe('Watching output', () => {
  const logs = temporaryLogs();

  const print = (output: CommandOutput, pieces: readonly Printed[]) => {
    for (const [stream, text] of pieces) output.write(stream, Buffer.from(text));
  };
  /** Whether the pattern is found in what was printed before, while that is looked at a piece at a time, or later. */
  const isFound = async (
    pattern: string,
    printed: Partial<Record<'before' | 'during' | 'later', readonly Printed[]>>,
  ) => {
    const output = new CommandOutput(logs.next(), 1000);
    print(output, printed.before ?? []);
    const watch = new OutputWatch(output, new Pattern(pattern, 'output'), 0);
    let found = false;
    const stop = watch.begin(() => {
      found = true;
    }, assert.ifError);
    for (const piece of printed.during ?? []) {
      print(output, [piece]);
      await turn();
    }
    await watch.pastSeen;
    print(output, printed.later ?? []);
    stop();
    return found;
  };

  it('finds what stands in the output as far as it has come with any piece, and nothing else', async () => {
    const piece = fc.tuple(
      fc.constantFrom<StreamName>('stdout', 'stderr'),
      fc.string({ unit: fc.constantFrom('a', 'b', '\n', '€'), minLength: 1, maxLength: 3 }),
    );
    const pieces = fc.array(piece, { maxLength: 6 });
    const pattern = fc.constantFrom('^b', 'ab', 'a\nb', 'b$', '€a', '^€+$', '\\Bb', '(?<=a)\nb', 'bbb');
    const printed = fc.record({ before: pieces, during: pieces, later: pieces });
    await fc.assert(
      fc.asyncProperty(pattern, printed, async (wanted, parts) => {
        const soFar = { stdout: '', stderr: '' };
        let expected = false;
        for (const [stream, text] of [...parts.before, ...parts.during, ...parts.later]) {
          soFar[stream] += text;
          expected ||= new RegExp(wanted, 'm').test(soFar[stream]);
        }
        assert.equal(await isFound(wanted, parts), expected);
      }),
      { numRuns: 300 },
    );
  });

  const long = 'x'.repeat(60_000);
  const stdout = (...texts: string[]) => texts.map((text): Printed => ['stdout', text]);

  it('finds a match whose beginning is followed by much on the other stream', async () => {
    const before: Printed[] = [['stderr', 'server re'], ...stdout(long, long, long)];
    assert.ok(await isFound('server ready', { before, during: [['stderr', 'ady']] }));
    assert.ok(await isFound('server ready', { before, later: [['stderr', 'ady']] }));
  });

  it('takes no place within a line for its beginning, however long the line is', async () => {
    const line = stdout(`a${long}`, long, long);
    for (const when of ['during', 'later'] as const) {
      assert.ok(!(await isFound('^x', { before: line, [when]: line.slice(1) })), when);
      assert.ok(await isFound('^x', { before: line, [when]: stdout('\n', 'x') }), when);
      assert.ok(await isFound('^b', { before: stdout(`a${long}`, long, '\n'), [when]: stdout('b') }), when);
    }
    assert.ok(!(await isFound('^x', { before: line })));
    assert.ok(!(await isFound('^x', { later: line })));
    assert.ok(await isFound('^a', { before: line }));
  });

  it('ends with whoever began it', async () => {
    const output = new CommandOutput(logs.next(), 1000);
    print(output, stdout('one\n', 'two\n', 'three\n'));
    const watch = new OutputWatch(output, new Pattern('three', 'output'), 0);
    let found = false;
    watch.begin(() => {
      found = true;
    }, assert.ifError)();
    await watch.pastSeen;
    print(output, stdout('three\n'));
    assert.equal(found, false);
  });
});

forEachShell('Waiting for output', (suite) => {
  it('lets everything else go on while it looks through a large log', async () => {
    const { commandId } = await suite.session.run('seq 1 2000000');
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const { met } = await suite.opened.engine.wait({ commandId, until: [{ output: 'nothing like it' }] });
    isOver = true;
    assert.equal(met, 'exit');
    assert.ok(turns > 10, `others had ${turns} turns`);
  });

  it('finds what was printed before, at the end of a large log, although the command has ended and the time is over', async () => {
    const { commandId } = await suite.session.run('seq 1 2000000');
    const until = [{ output: '^2000000\n' }];
    assert.equal((await suite.opened.engine.wait({ commandId, until, timeoutMs: 1 })).met, 'output');
  });

  it('does not go on looking for somebody who is gone', async () => {
    const { commandId } = await suite.session.run('seq 1 2000000');
    const gone = new AbortController();
    const waiting = suite.opened.engine.wait({ commandId, until: [{ output: '^2000000\n' }] }, gone.signal);
    gone.abort();
    assert.equal((await waiting).met, 'timeout');
  });
});
