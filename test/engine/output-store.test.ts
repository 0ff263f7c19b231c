import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { mock } from 'node:test';
import fc from 'fast-check';
import type { Limits } from '../../protocol/limits';
import { type LogLimits, LogStore } from '../../sidecar/output/log-store';
import { bytesOf, fails, forEachShell, isOutput, OpenedEngine, until } from '../helpers/engine';
import { parsePrefixLog } from '../helpers/prefix-log';

const exitFile = (logPath: string) => logPath.replace(/\.log$/, '.exit');

/** Whether the output of the command with this log is marked as final. */
function isMarkedFinal(logPath: string): boolean {
  const id = basename(logPath, '.log');
  return readdirSync(dirname(logPath)).some((name) => name.startsWith(id) && name.endsWith('labelers.done'));
}

const namesIn = (directory: string) => readdirSync(directory).toSorted();

const joined = (chunks: ReadonlyArray<{ data: string }>) => chunks.map(({ data }) => data).join('');

forEachShell('The output store', (suite) => {
  it('logs every line under its prefix', async () => {
    const { logPath } = await suite.session.run('echo one; echo two; printf part');
    await until('the log is final', () => isMarkedFinal(logPath));
    assert.equal(await readFile(logPath, 'latin1'), '\x01\x01\x01one\n\x01\x01\x01two\n\x01\x01\0part\n');
    const { logPath: errors } = await suite.session.run('echo err >&2');
    await until('the log is final', () => isMarkedFinal(errors));
    assert.equal(await readFile(errors, 'latin1'), '\x02\x02\x02err\n');
  });

  it('has the log of a command for one that comes right after it and names it', async () => {
    const { logPath } = await suite.session.run('echo one');
    assert.equal(await suite.session.text(`cat ${logPath}`), '\x01\x01\x01one\n');
  });

  it('has an empty log for a silent command', async () => {
    const { logPath } = await suite.session.run('true');
    await until('the log is there', () => existsSync(logPath));
    assert.equal(await readFile(logPath, 'latin1'), '');
  });

  it('logs any bytes so that both streams can be rebuilt exactly', async () => {
    const { session } = suite;
    const byte = fc.oneof(fc.constantFrom(0, 1, 2, 10, 13), fc.integer({ min: 0, max: 255 }));
    const bytes = fc.array(byte, { maxLength: 300 });
    const writes = fc.array(fc.tuple(fc.boolean(), bytes), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(writes, async (pieces) => {
        const expected: Record<'stdout' | 'stderr', number[]> = { stdout: [], stderr: [] };
        const lines: string[] = [];
        for (const [index, [toStderr, content]] of pieces.entries()) {
          await writeFile(join(session.cwd, `piece-${index}`), Buffer.from(content));
          expected[toStderr ? 'stderr' : 'stdout'].push(...content);
          lines.push(`cat piece-${index}${toStderr ? ' >&2' : ''}`);
        }
        const { logPath } = await session.run(lines.join('\n'));
        await until('the log is final', () => isMarkedFinal(logPath));
        const { stdout, stderr } = parsePrefixLog(await readFile(logPath));
        assert.deepEqual({ stdout: [...stdout], stderr: [...stderr] }, expected);
      }),
      { numRuns: 30 },
    );
  });

  it('logs large output completely', async () => {
    const { logPath } = await suite.session.run('seq 1 1000000; head -c 1000000 /dev/urandom | tee copy >&2');
    const { stdout, stderr } = parsePrefixLog(await readFile(logPath));
    assert.equal(stdout.length, 6_888_896);
    assert.ok(stdout.subarray(-16).toString().endsWith('999999\n1000000\n'));
    assert.ok(stderr.equals(await readFile(join(suite.session.cwd, 'copy'))));
  });

  it('publishes the exit code beside the log', async () => {
    const { session } = suite;
    for (const [command, code] of [
      ['true', 0],
      ["sh -c 'exit 7'", 7],
      ['exit 42', 42],
    ] as const) {
      const { logPath } = await session.run(command);
      await until('the code is published', () => existsSync(exitFile(logPath)));
      assert.equal(readFileSync(exitFile(logPath), 'utf8').trim(), String(code), command);
    }
  });

  it('publishes the exit code whole or not at all, and leaves no other file', async () => {
    const fresh = await OpenedEngine.open();
    try {
      const session = await fresh.session(suite.shell);
      const exitFiles = () =>
        readdirSync(fresh.stateDir, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.exit'))
          .map((name) => readFileSync(join(fresh.stateDir, name), 'utf8').trim());
      const seen: string[] = [];
      let running = true;
      const watching = until('the commands are over', () => {
        seen.push(...exitFiles());
        return !running;
      });
      let logPath = '';
      for (let time = 0; time < 60; time++) ({ logPath } = await session.run("sh -c 'exit 17'"));
      await until('all are published', () => exitFiles().length === 60 && isMarkedFinal(logPath));
      running = false;
      await watching;
      assert.deepEqual([...new Set(seen)], ['17']);
      assert.deepEqual(
        // What is written aside before it gets its name is among the files that are linked to.
        [dirname(logPath), join(fresh.stateDir, 'published')].map((directory) => namesIn(directory)),
        [
          Array.from({ length: 60 }, (_, index) => [
            `${index + 1}.exit`,
            `${index + 1}.labelers.done`,
            `${index + 1}.log`,
          ])
            .flat()
            .toSorted(),
          ['17', 'empty'],
        ],
      );
    } finally {
      await fresh.dispose();
    }
  });

  it('marks the output of a background command as final only when nobody can add to it', async () => {
    const { session, opened } = suite;
    const command = await session.start('{ until [ -e go ]; do sleep 0.01; done; echo late; } & echo now', {
      background: true,
    });
    const mine = () =>
      opened.engine.listCommands({ sessionId: session.id }).commands.find((c) => c.commandId === command.id);
    await until('its output is there', async () => (await command.stdout()) === 'now\n');
    const path = mine()?.logPath ?? findLog(opened.stateDir, command.id);
    assert.ok(!isMarkedFinal(path));
    await writeFile(join(session.cwd, 'go'), '');
    const { logPath } = await command.wait();
    await until('it is marked', () => isMarkedFinal(logPath ?? path));
    assert.equal(parsePrefixLog(await readFile(logPath ?? path)).stdout.toString(), 'now\nlate\n');
  });

  it('writes late output of a job to the log of its command', async () => {
    const { session } = suite;
    const { logPath } = await session.run('{ until [ -e go ]; do sleep 0.01; done; echo late; } & echo now');
    await session.run('touch go');
    await until('the late line is logged', async () => (await readFile(logPath, 'latin1')).includes('late'));
    assert.equal(await readFile(logPath, 'latin1'), '\x01\x01\x01now\n\x01\x01\x01late\n');
    await until('the output is final', () => isMarkedFinal(logPath));
  });

  it('goes on from a cursor', async () => {
    const { session } = suite;
    const command = await session.start('echo one; until [ -e go ]; do sleep 0.01; done; echo two', {
      background: true,
    });
    await command.wait([{ output: 'one\n' }]);
    const first = await command.output({ fromSeq: 0 });
    assert.deepEqual([joined(first.chunks), first.finished, first.droppedBytes], ['one\n', false, 0]);
    const nothing = await command.output({ fromSeq: first.nextSeq });
    assert.deepEqual([nothing.chunks, nothing.nextSeq], [[], first.nextSeq]);
    await writeFile(join(session.cwd, 'go'), '');
    await command.wait();
    const second = await command.output({ fromSeq: first.nextSeq });
    assert.deepEqual([joined(second.chunks), second.finished], ['two\n', true]);
    const all = await command.output();
    assert.equal(joined(all.chunks), 'one\ntwo\n');
    assert.ok(all.chunks.every(({ seq }, index) => index === 0 || seq > (all.chunks[index - 1]?.seq ?? 0)));
    assert.ok(all.chunks.every(({ time }) => Math.abs(time - Date.now()) < 60_000));
  });

  it('shows one stream or both', async () => {
    const { commandId } = await suite.session.run('echo out; sleep 0.05; echo err >&2');
    const { engine } = suite.opened;
    const streams = async (stream?: 'stdout' | 'stderr' | 'both') => {
      const { chunks } = await engine.output({ commandId, ...(stream ? { stream } : {}) });
      return chunks.map(({ stream: name, data }) => `${name} ${data}`).toSorted();
    };
    assert.deepEqual(await streams('stdout'), ['stdout out\n']);
    assert.deepEqual(await streams('stderr'), ['stderr err\n']);
    assert.deepEqual(await streams('both'), ['stderr err\n', 'stdout out\n']);
    assert.deepEqual(await streams(), ['stderr err\n', 'stdout out\n']);
  });

  it('gives the last lines of both streams together, and not of each', async () => {
    const { commandId } = await suite.session.run('echo a; echo b; sleep 0.1; echo e >&2; sleep 0.1');
    const { chunks } = await suite.opened.engine.output({ commandId, tailLines: 1 });
    assert.deepEqual(
      chunks.map(({ stream, data }) => [stream, data]),
      [['stderr', 'e\n']],
    );
  });

  it('shows the last lines', async () => {
    const { commandId } = await suite.session.run('seq 1 100000; printf end');
    const tail = async (tailLines: number) =>
      joined((await suite.opened.engine.output({ commandId, tailLines })).chunks);
    assert.equal(await tail(1), 'end');
    assert.equal(await tail(3), '99999\n100000\nend');
    assert.equal(await tail(0), '');
    assert.equal((await tail(50_000)).split('\n').length, 50_000);
  });

  it('shows the lines that match', async () => {
    const { commandId } = await suite.session.run('seq 1 100000; echo "error 1"; echo "error 2" >&2; printf "error 3"');
    const grep = async (pattern: string, stream: 'stdout' | 'both' = 'both') =>
      joined((await suite.opened.engine.output({ commandId, grep: pattern, stream })).chunks);
    assert.deepEqual((await grep('error')).match(/error \d/g)?.toSorted(), ['error 1', 'error 2', 'error 3']);
    assert.match(await grep('error', 'stdout'), /^error 1\nerror 3\n?$/);
    assert.equal(await grep('^9999.$', 'stdout'), Array.from({ length: 10 }, (_, n) => `9999${n}\n`).join(''));
    assert.equal(await grep('nothing like it'), '');
    await fails(() => grep('('), 'invalid_params');
    // Tried one way after the other, this would take longer than the machine lasts.
    const { commandId: long } = await suite.session.run(`printf '%s!\\n' ${'a'.repeat(60)}`);
    assert.deepEqual((await suite.opened.engine.output({ commandId: long, grep: '^(a+)+$' })).chunks, []);
  });

  it('gives everything, piece by piece, however large it is', async () => {
    const { commandId, stdoutBytes } = await suite.session.run('seq 1 2000000');
    const pieces: Buffer[] = [];
    let fromSeq = 0;
    for (let calls = 0; calls < 10_000; calls++) {
      const { chunks, nextSeq, droppedBytes } = await suite.opened.engine.output({
        commandId,
        fromSeq,
        maxBytes: 1_000_000,
      });
      assert.equal(droppedBytes, 0);
      const piece = bytesOf(chunks);
      assert.ok(piece.length <= 1_100_000, 'each piece is bounded');
      if (piece.length === 0 && nextSeq === fromSeq) break;
      pieces.push(piece);
      fromSeq = nextSeq;
    }
    const whole = Buffer.concat(pieces);
    assert.equal(whole.length, stdoutBytes);
    let [number, at] = [1, 0];
    for (; at < whole.length && number < 2000; number++) {
      const line = `${number}\n`;
      assert.equal(whole.toString('latin1', at, at + line.length), line);
      at += line.length;
    }
    assert.ok(whole.toString('latin1', whole.length - 16).endsWith('1999999\n2000000\n'));
  });

  it('gives bytes that are not text as base64', async () => {
    const { commandId } = await suite.session.run("printf '\\377\\000'");
    assert.deepEqual([...bytesOf((await suite.opened.engine.output({ commandId })).chunks)], [255, 0]);
  });

  it('lets a slow reader hold up nobody, and skips nothing without saying so', async () => {
    const { session, opened } = suite;
    const command = await session.start('head -c 20000000 /dev/zero', { background: true });
    const received: Record<'slow' | 'fast', number> = { slow: 0, fast: 0 };
    let goOn: () => void = () => {};
    const mayGoOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const slow = opened.engine.follow({ commandId: command.id }, async (event) => {
      received.slow += isOutput(event) ? bytesOf([event]).length : event.droppedBytes;
      await mayGoOn;
    });
    await opened.engine.follow({ commandId: command.id }, (event) => {
      received.fast += isOutput(event) ? bytesOf([event]).length : event.droppedBytes;
    });
    assert.equal(received.fast, 20_000_000);
    assert.equal((await command.wait()).stdoutBytes, 20_000_000);
    await session.expect('echo next', { stdout: 'next\n' });
    assert.ok(received.slow > 0 && received.slow <= 65_536, `the slow one has one piece, of ${received.slow} bytes`);
    goOn();
    await slow;
    assert.equal(received.slow, 20_000_000);
  });

  it('goes on with the command when a reader of its stream goes away', async () => {
    const { session, opened } = suite;
    const gone = new AbortController();
    const streaming = opened.engine
      .stream(
        { sessionId: session.id, command: 'echo begun; until [ -e go ]; do sleep 0.01; done; echo end' },
        () => gone.abort(),
        gone.signal,
      )
      .catch(() => undefined);
    await until('the reader is gone', () => gone.signal.aborted);
    await writeFile(join(session.cwd, 'go'), '');
    await streaming;
    await until('the command has ended', () => {
      const [command] = opened.engine.listCommands({ sessionId: session.id }).commands;
      return command?.state === 'finished' && command.stdoutBytes === 10;
    });
    await session.expect('echo next', { stdout: 'next\n' });
  });
});

/** The log of a command that has not told its path yet. */
function findLog(stateDir: string, commandId: string): string {
  const number = commandId.split(/[^0-9a-z]/i).at(-1) ?? '';
  const logs = readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'));
  const found = logs.find((name) => basename(name, '.log').endsWith(number));
  assert.ok(found, `${commandId} has a log among ${logs.join(', ')}`);
  return join(stateDir, found);
}

function sizeOfLogs({ stateDir }: OpenedEngine): number {
  return readdirSync(stateDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.log'))
    .reduce((sum, name) => sum + statSync(join(stateDir, name)).size, 0);
}

describe('The caps of the output store', () => {
  let opened: OpenedEngine | undefined;
  const open = async (limits: Partial<Limits>) => {
    opened = await OpenedEngine.open({ limits });
    return opened;
  };
  afterEach(() => opened?.dispose());

  it('bound the log of a command, and the result says so', async () => {
    const session = await (await open({ maxLogBytesPerCommand: 100_000 })).session('bash');
    const result = await session.run('seq 1 500000; echo end', { maxOutputBytes: 10_000 });
    assert.deepEqual([result.exitCode, result.stdoutBytes], [0, 3_388_899]);
    assert.ok(result.stdout.endsWith('500000\nend\n'), 'the tail is there all the same');
    await until('the log is there', () => existsSync(result.logPath));
    assert.ok(statSync(result.logPath).size <= 100_000, 'the log is bounded');
    assert.match(result.notes.join(), /the log reached its limit of 100000 bytes/);
    const { droppedBytes } = await session.engine.output({
      commandId: result.commandId,
      fromSeq: 0,
      maxBytes: 10_000_000,
    });
    assert.equal(droppedBytes, result.stdoutBytes - parsePrefixLog(await readFile(result.logPath)).stdout.length);
    await session.expect('echo next', { stdout: 'next\n' });
  });

  it('leave the end of a result as it was, and count exactly what is missing of one that is read back', async () => {
    const session = await (await open({ maxLogBytesPerCommand: 200_000 })).session('bash');
    const { engine } = session;
    const printed = "for digit in 1 2 3 4 5 6; do head -c 100000 /dev/zero | tr '\\0' $digit; done";
    const { commandId, stdout, logPath } = await session.run(printed, { maxOutputBytes: 20 });
    const notice = (bytes: number, where: string) => `\n[limpet: ${bytes} bytes of stdout left out here; ${where}]\n`;
    const inPart = `exec.output with command_id "${commandId}" has what of them is in the log`;
    assert.equal(stdout, '1'.repeat(10) + notice(599_980, inPart) + '6'.repeat(10));
    // By then a text of which the log has everything is not at hand any more.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await engine.wait({ commandId })).stdout, stdout);
    const readBack = async (maxOutputBytes: number) => {
      const told = await engine.wait({ commandId, maxOutputBytes });
      return [told.stdout, told.stdoutBytes, told.truncated?.stdout];
    };
    const logged = parsePrefixLog(await readFile(logPath)).stdout.toString();
    const unlogged = notice(600_000 - logged.length, 'they are in no log');
    assert.deepEqual(await readBack(1_000_000), [logged + unlogged, 600_000, true]);
    const cut = logged.slice(0, 10) + notice(logged.length - 20, inPart) + logged.slice(-10);
    assert.deepEqual(await readBack(20), [cut + unlogged, 600_000, true]);
  });

  /** A store of logs in a directory of its own. */
  const withLogs = async (limits: LogLimits, work: (logs: LogStore, directory: string) => void, most?: number) => {
    const directory = await mkdtemp(join(tmpdir(), 'limpet-test-'));
    const logs = new LogStore({ stateDir: directory, runtimeDir: directory }, limits, most);
    try {
      logs.makeDirectory('s-1');
      work(logs, join(directory, 'sessions', 's-1'));
    } finally {
      logs.dispose();
      await rm(directory, { recursive: true, force: true });
    }
  };
  const files = (number: number) => ['exit', 'labelers.done', 'log'].map((ending) => `${number}.${ending}`);

  it('bound how many logs there are: the oldest go first', async () => {
    const bounds = (logs: LogStore, directory: string) => {
      for (let number = 1; number <= 5; number++) {
        const log = logs.create('s-1', number);
        log.append('stdout', Buffer.from('a\n'));
        logs.finish(log);
        logs.publishExit(log, 0);
        logs.publishEnd(log);
      }
      assert.deepEqual(readdirSync(directory).toSorted(), [3, 4, 5].flatMap(files));
    };
    await withLogs({ maxLogBytesPerCommand: 1000, maxLogBytesTotal: 10_000 }, bounds, 3);
  });

  it('go when they are older than seven days, also while the sidecar runs', async () => {
    const days = (count: number) => count * 24 * 3_600_000;
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: days(20_000) });
    try {
      await withLogs({ maxLogBytesPerCommand: 1000, maxLogBytesTotal: 10_000 }, (logs, directory) => {
        logs.makeDirectory('s-2');
        logs.clearOut();
        const finish = (sessionId: string, number: number) => {
          const log = logs.create(sessionId, number);
          log.append('stdout', Buffer.from('a\n'));
          logs.finish(log);
          logs.publishExit(log, 0);
          logs.publishEnd(log);
        };
        finish('s-1', 1);
        finish('s-2', 1);
        logs.leave('s-2');
        const running = logs.create('s-1', 2);
        running.append('stdout', Buffer.from('a\n'));
        running.save();
        mock.timers.tick(days(4));
        finish('s-1', 3);
        assert.deepEqual(readdirSync(directory).toSorted(), [...files(1), '2.log', ...files(3)]);
        mock.timers.tick(days(4));
        assert.deepEqual(
          [readdirSync(directory).toSorted(), readdirSync(dirname(directory))],
          [['2.log', ...files(3)], ['s-1']],
        );
        mock.timers.tick(days(4));
        assert.deepEqual(readdirSync(directory), ['2.log']);
        logs.finish(running);
        mock.timers.tick(days(8));
        assert.deepEqual(readdirSync(directory), []);
      });
    } finally {
      mock.timers.reset();
    }
  });

  it('count no output that could not be written', async () => {
    await withLogs({ maxLogBytesPerCommand: 40_000, maxLogBytesTotal: 40_000 }, (logs) => {
      const piece = Buffer.alloc(10_000, 'a');
      for (let number = 1; number <= 10; number++) {
        // It has no directory: a little is taken all the same, until the file is to be made.
        const log = logs.create('s-2', number);
        const ends = [log.append('stdout', piece), log.append('stdout', piece), log.append('stdout', piece)];
        assert.deepEqual(
          [ends, log.stopped],
          [[10_004, undefined, undefined], 'the log could not be written (ENOENT)'],
        );
      }
      const log = logs.create('s-1', 1);
      assert.deepEqual([log.append('stdout', Buffer.alloc(39_000, 'a')), log.stopped], [39_004, undefined]);
    });
  });

  it('leave nothing of a log that had to make room before it was told how its command ended', async () => {
    await withLogs({ maxLogBytesPerCommand: 1000, maxLogBytesTotal: 1000 }, (logs, directory) => {
      const [first, second] = [logs.create('s-1', 1), logs.create('s-1', 2)];
      first.append('stdout', Buffer.alloc(600, 'a'));
      logs.finish(first);
      second.append('stdout', Buffer.alloc(600, 'a'));
      logs.finish(second);
      for (const log of [first, second]) {
        logs.publishExit(log, 0);
        logs.publishEnd(log);
      }
      assert.deepEqual(readdirSync(directory).toSorted(), files(2));
    });
  });

  it('bound all logs together: the oldest finished ones go first, a running one stays', async () => {
    const engine = await open({ maxLogBytesTotal: 2_000_000 });
    const session = await engine.session('bash');
    const running = await session.start('echo precious; sleep 300', { background: true });
    await running.wait([{ output: 'precious' }]);
    const paths: string[] = [];
    for (let n = 0; n < 10; n++) {
      paths.push((await session.run('seq 1 80000')).logPath);
      assert.ok(sizeOfLogs(engine) <= 2_000_000, `${sizeOfLogs(engine)} bytes after ${n + 1} commands`);
    }
    const goneResult = [
      '\n[limpet: 468894 bytes of stdout left out here; they are in no log]\n',
      { stdout: true, stderr: false },
      ['Its log had to make room for others, or somebody removed it; 468894 bytes are missing.'],
    ];
    // Each takes about 700 kB.
    assert.deepEqual(paths.filter(existsSync), paths.slice(-2), 'only the newest are there');
    const [oldest] = session.engine.listCommands({ sessionId: session.id }).commands.filter((c) => !c.background);
    const { stdout, truncated, notes } = await session.engine.wait({ commandId: oldest?.commandId ?? '' });
    assert.deepEqual([stdout, truncated, notes], goneResult);
    assert.equal(await running.stdout(), 'precious\n');
    await running.cancel();
  });

  it('bound a command that alone reaches what all logs may take: its result says so, and the session goes on', async () => {
    const engine = await open({ maxLogBytesTotal: 200_000 });
    const session = await engine.session('bash');
    const large = await session.start('seq 1 500000; until [ -e go ]; do sleep 0.01; done; echo end', {
      background: true,
    });
    await until('all is read', async () => (await large.wait(undefined, 1)).stdoutBytes === 3_388_895);
    const refused = /all logs together reached their limit on disk/;
    const beside = await session.run('seq 1 50000');
    assert.deepEqual([beside.exitCode, beside.stdoutBytes], [0, 288_894], 'a command beside it is answered whole');
    assert.match(beside.notes.join(), refused);
    // Who asks later is answered from the log.
    const ending = large.wait();
    await writeFile(join(session.cwd, 'go'), '');
    const { exitCode, stdoutBytes, stdout = '', notes = [] } = await ending;
    assert.deepEqual([exitCode, stdoutBytes], [0, 3_388_899]);
    assert.ok(stdout.endsWith('\n500000\nend\n'), 'the tail is there all the same');
    assert.match(notes.join(), refused);
    assert.ok(sizeOfLogs(engine) <= 200_000, `${sizeOfLogs(engine)} bytes`);
    const { logPath } = await session.expect('echo next', { stdout: 'next\n' });
    await until('the log is there', () => existsSync(logPath));
    assert.equal(await readFile(logPath, 'latin1'), '\x01\x01\x01next\n');
  });
});
