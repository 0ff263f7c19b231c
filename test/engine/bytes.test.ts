import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { bytesOf, forEachShell, isOutput, until } from '../helpers/engine';
import { parsePrefixLog } from '../helpers/prefix-log';

const long = process.env.LIMPET_LONG === '1';
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

forEachShell('Bytes', (suite) => {
  for (const [name, command] of [
    ['an empty command', ''],
    ['only spaces', '   '],
    ['only tabs and newlines', '\t\n\n\t\n'],
    ['only a comment', '# nothing to do'],
    ['true', 'true'],
    ['an assignment', 'x=1'],
    ['a function definition', 'f() { echo never; }'],
  ] as const) {
    it(`answers ${name} with silent success`, async () => {
      await suite.session.expect(command, {}, { timeoutMs: 10_000 });
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });
  }

  it('knows the directory after cd, and keeps it', async () => {
    await suite.session.expect('cd /', { cwd: '/' });
    await suite.session.expect('pwd', { stdout: '/\n', cwd: '/' });
  });

  for (const [command, stdout] of [
    ['printf x', 'x'],
    ["printf ''", ''],
    ["printf '\\n'", '\n'],
    ["printf '\\n\\n x \\n\\n'", '\n\n x \n\n'],
    ["printf 'a\\r\\nb\\r'", 'a\r\nb\r'],
    ["printf 'a\\0b'", 'a\0b'],
    ["printf '\\033[31mred\\033[0m'", '\x1b[31mred\x1b[0m'],
    ["printf '%s' 'ünï → 🐚'", 'ünï → 🐚'],
    ["printf '\\001\\001\\001a\\n\\002\\002\\002b\\n\\001\\001\\000c'", '\x01\x01\x01a\n\x02\x02\x02b\n\x01\x01\0c'],
  ] as const) {
    it(`returns exactly what ${JSON.stringify(command)} prints, on either stream`, async () => {
      await suite.session.expect(command, { stdout });
      await suite.session.expect(`${command} >&2`, { stderr: stdout });
      await suite.session.expect(`${command}; ${command} >&2`, { stdout, stderr: stdout });
    });
  }

  it('keeps the streams apart', async () => {
    await suite.session.expect('echo out; echo err >&2; echo out again', {
      stdout: 'out\nout again\n',
      stderr: 'err\n',
    });
  });

  it('gives bytes that are not UTF-8 as base64, each stream for itself', async () => {
    await suite.session.expect("printf '\\377\\376'; echo plain >&2", {
      stdout: Buffer.from([0xff, 0xfe]).toString('base64'),
      stdoutBytes: 2,
      stderr: 'plain\n',
      encoding: { stdout: 'base64', stderr: 'utf8' },
    });
    await suite.session.expect("echo plain; printf '\\342\\202' >&2", {
      stdout: 'plain\n',
      stderr: Buffer.from([0xe2, 0x82]).toString('base64'),
      stderrBytes: 2,
      encoding: { stdout: 'utf8', stderr: 'base64' },
    });
  });

  it('returns a megabyte of random bytes with the same checksum', async () => {
    const bytes = randomBytes(1024 * 1024);
    await writeFile(join(suite.session.cwd, 'random'), bytes);
    const result = await suite.session.run('cat random');
    assert.deepEqual(
      {
        bytes: result.stdoutBytes,
        encoding: result.encoding.stdout,
        sum: sha256(Buffer.from(result.stdout, 'base64')),
      },
      { bytes: bytes.length, encoding: 'base64', sum: sha256(bytes) },
    );
  });

  it('returns any bytes on both streams unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), fc.uint8Array({ maxLength: 2000 }), async (out, err) => {
        await writeFile(join(suite.session.cwd, 'out'), out);
        await writeFile(join(suite.session.cwd, 'err'), err);
        const { stdout, stderr, encoding } = await suite.session.run('cat err >&2; cat out');
        assert.deepEqual(
          [
            bytesOf([{ data: stdout, encoding: encoding.stdout }]),
            bytesOf([{ data: stderr, encoding: encoding.stderr }]),
          ],
          [Buffer.from(out), Buffer.from(err)],
        );
      }),
      { numRuns: 40 },
    );
  });

  it('puts a character together whose bytes arrive one at a time', async () => {
    const { session } = suite;
    const text = "printf 'a\\342'; read -r x; printf '\\202'; read -r x; printf '\\254z'";
    const command = await session.start(text, { keepStdinOpen: true });
    const seen: string[] = [];
    const following = session.engine.follow({ commandId: command.id }, (event) => {
      if (isOutput(event)) seen.push(event.data);
    });
    for (const bytes of [2, 3]) {
      await until(`${bytes} bytes are read`, async () => (await command.wait(undefined, 1)).stdoutBytes === bytes);
      await command.input('\n');
    }
    session.assertResult(await following, text, { stdout: 'a€z' });
    assert.deepEqual(seen, ['a', '€z']);
  });

  it('streams a line before it is complete', async () => {
    const { session } = suite;
    const seen: string[] = [];
    const command = "printf a; until [ -e go ]; do sleep 0.01; done; printf 'b\\n'";
    const result = await session.engine.stream({ sessionId: session.id, command, timeoutMs: 10_000 }, async (event) => {
      if (isOutput(event)) seen.push(event.data);
      await writeFile(join(session.cwd, 'go'), '');
    });
    assert.deepEqual(seen, ['a', 'b\n']);
    session.assertResult(result, command, { stdout: 'ab\n' });
  });

  it('numbers streamed events and loses none', async () => {
    const { events, result } = await suite.session.stream('seq 1 100000; seq 1 1000 >&2', {
      maxOutputBytes: 10_000_000,
    });
    const output = events.filter(isOutput);
    assert.equal(output.length, events.length);
    assert.ok(output.every(({ seq }, index) => index === 0 || seq > (output[index - 1]?.seq ?? 0)));
    for (const stream of ['stdout', 'stderr'] as const) {
      assert.equal(bytesOf(output.filter(({ event }) => event === stream)).toString(), result[stream]);
    }
  });

  it('keeps every line in order', async () => {
    const expected = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('');
    const result = await suite.session.run('seq 1 200000');
    assert.ok(result.stdout === expected, 'the text is exactly the numbers from 1 to 200000');
  });

  it('counts 100 MB in one line exactly and cuts its text in the middle', async () => {
    const bytes = 100 * 1024 * 1024;
    const result = await suite.session.run(`head -c ${bytes} /dev/zero | tr '\\0' x`);
    assert.deepEqual(
      [result.outcome, result.exitCode, result.stdoutBytes, result.truncated],
      ['exited', 0, bytes, { stdout: true, stderr: false }],
    );
    assert.match(result.stdout, /^x+\s.*exec\.output.*\sx+$/s);
    assert.ok(result.stdout.length < 2.1 * 1024 * 1024, 'the text is bounded');
    const { stdout } = parsePrefixLog(await readFile(result.logPath));
    assert.ok(stdout.equals(Buffer.alloc(bytes, 'x')), 'the log has all of it');
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('counts ten million short lines exactly, and has each of them in its log', async () => {
    const { session } = suite;
    const result = await session.run('seq 10000000 | tee lines');
    assert.deepEqual([result.exitCode, result.stdoutBytes, result.truncated.stdout], [0, 78_888_897, true]);
    const lines = await readFile(join(session.cwd, 'lines'));
    assert.ok(parsePrefixLog(await readFile(result.logPath)).stdout.equals(lines), 'the log has all of them');
  });

  it('captures both streams at once, 50 MB each, and mixes them nowhere', async () => {
    const { session } = suite;
    const files = { stdout: randomBytes(50 * 1024 * 1024), stderr: randomBytes(50 * 1024 * 1024) };
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(session.cwd, name), bytes);
    const streamed = { stdout: createHash('sha256'), stderr: createHash('sha256') };
    const command = 'cat stdout & one=$!; cat stderr >&2; wait $one';
    const result = await session.engine.stream({ sessionId: session.id, command }, (event) => {
      assert.ok(isOutput(event), 'nothing is left out');
      streamed[event.event].update(bytesOf([event]));
    });
    assert.deepEqual(
      [result.exitCode, result.stdoutBytes, result.stderrBytes],
      [0, files.stdout.length, files.stderr.length],
    );
    const logged = parsePrefixLog(await readFile(result.logPath));
    for (const stream of ['stdout', 'stderr'] as const) {
      const sum = sha256(files[stream]);
      assert.deepEqual([streamed[stream].digest('hex'), sha256(logged[stream])], [sum, sum], stream);
    }
  });

  it('stops yes when it is cancelled, and counts what came', async () => {
    const yes = await suite.session.start('yes');
    await yes.wait([{ output: 'y' }]);
    assert.equal((await yes.cancel()).outcome, 'cancelled');
    const { stdoutBytes, outcome, logPath = '' } = await yes.wait();
    assert.equal(outcome, 'cancelled');
    assert.ok(stdoutBytes > 0, 'something came');
    assert.equal(stdoutBytes, parsePrefixLog(await readFile(logPath)).stdout.length);
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('loses nothing of a command that ends right after its output, many times over', async function () {
    if (long) this.timeout(600_000);
    const [bytes, times] = long ? [10_000_000, 200] : [10_000_000, 40];
    for (let time = 0; time < times; time++) {
      const { stdoutBytes, exitCode } = await suite.session.run(`head -c ${bytes} /dev/zero`);
      assert.deepEqual([stdoutBytes, exitCode], [bytes, 0], `time ${time}`);
    }
  });

  it('loses nothing of a command that prints and then ends the shell', async function () {
    if (long) this.timeout(600_000);
    const [bytes, times] = long ? [10_000_000, 200] : [10_000_000, 20];
    for (let time = 0; time < times; time++) {
      const result = await suite.session.run(`head -c ${bytes} /dev/zero; exit 3`);
      assert.deepEqual(
        [result.outcome, result.exitCode, result.stdoutBytes],
        ['shell_exited', 3, bytes],
        `time ${time}`,
      );
    }
  });

  /** Prints records as the shell's own are: about the command that prints them, with a success in another directory. */
  const imitate = (kinds: readonly string[]) =>
    `{ for kind in ${kinds.join(' ')}; do printf '\\1=%s\\0%s\\0000\\0/tmp\\0' $kind "\${LIMPET_COMMAND_ID##*:}"; done; }`;

  for (const background of [false, true]) {
    it(`is not deceived by output that imitates its own records, in the ${background ? 'background' : 'foreground'}`, async () => {
      const { session } = suite;
      const kinds = ['A', 'B', 'D', 'E', 'F', 'P', 'T'];
      const printed = kinds.map((kind) => `\x01=${kind}\x001\x000\x00/tmp\0`).join('');
      const command = await session.start(
        `${imitate(kinds)}; ${imitate(kinds)} >&2; until [ -e go ]; do sleep 0.01; done; sh -c 'exit 9'`,
        { background },
      );
      await until('it is read', async () => bytesOf((await command.output()).chunks).length === 2 * printed.length);
      assert.equal((await command.wait([{ output: '=T' }])).state, 'running');
      await writeFile(join(session.cwd, 'go'), '');
      const { outcome, exitCode, stdout, stderr, cwd } = await command.wait();
      assert.deepEqual([outcome, exitCode, stdout, stderr, cwd], ['exited', 9, printed, printed, session.cwd]);
      await session.expect('echo next', { stdout: 'next\n' });
      assert.equal(session.info().restarts, 0);
    });
  }

  it('takes the same bytes for a record where records come, so the imitation is a true one', async () => {
    const { exitCode, cwd } = await suite.session.run(`${imitate(['D'])} >"$__lmp/ctl"; sh -c 'exit 9'`);
    assert.deepEqual([exitCode, cwd], [0, '/tmp']);
  });

  it('cuts text to the size asked for and says in the middle what is missing', async () => {
    const whole = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join('');
    const result = await suite.session.run('seq 1 100000', { maxOutputBytes: 4000 });
    assert.deepEqual([result.stdoutBytes, result.truncated], [whole.length, { stdout: true, stderr: false }]);
    const middle = /\n?[^\n]*exec\.output[^\n]*\n?/.exec(result.stdout);
    assert.ok(middle, 'a line names exec.output');
    const head = result.stdout.slice(0, middle.index);
    const tail = result.stdout.slice(middle.index + middle[0].length);
    assert.ok(head.length > 500 && tail.length > 500, 'both ends are kept');
    assert.ok(whole.startsWith(head) && whole.endsWith(tail), 'both ends are unchanged');
    const missing = Number(/\d[\d ,_]*(?= bytes)/.exec(middle[0])?.[0].replace(/\D/g, ''));
    const shown = head.length + tail.length;
    // A newline at either cut may belong to the text or to the line between.
    assert.ok(missing >= whole.length - shown - 2 && missing <= whole.length - shown, `${missing} bytes are missing`);
  });

  it('never cuts a character in two', async () => {
    const result = await suite.session.run("head -c 30000 /dev/zero | sed 's/\\x00/€/g'", { maxOutputBytes: 1000 });
    assert.deepEqual([result.stdoutBytes, result.encoding.stdout, result.truncated.stdout], [90_000, 'utf8', true]);
    assert.doesNotMatch(result.stdout, /\ufffd/);
  });

  it('answers within the smallest size that can be asked for', async () => {
    const result = await suite.session.run('seq 1 1000', { maxOutputBytes: 1 });
    assert.deepEqual([result.exitCode, result.stdoutBytes, result.truncated.stdout], [0, 3893, true]);
  });

  it('does not call text cut that fits exactly', async () => {
    await suite.session.expect('printf abcd', { stdout: 'abcd' }, { maxOutputBytes: 4 });
  });
});
