import assert from 'node:assert/strict';
import fc from 'fast-check';
import { forEachShell, until } from '../helpers/engine';

const timeoutMs = 10_000;

forEachShell('Parsing', (suite) => {
  for (const token of ["'", '"', '`', '(', '$(', '${', '$((', '<(']) {
    it(`answers an unbalanced ${token} with an error, and goes on`, async () => {
      const { outcome, exitCode, stderr } = await suite.session.run(`echo before ${token} after`, { timeoutMs });
      assert.equal(outcome, 'exited');
      assert.notEqual(exitCode, 0);
      assert.notEqual(stderr, '');
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });
  }

  for (const command of [
    '}',
    ')',
    '{ echo a',
    '( echo a',
    '[[ a',
    'if true',
    'if true; then echo a',
    'while true; do',
    'case x in',
    'fi',
    'done',
    'f() {',
    'echo a |',
    '&& echo a',
    '| cat',
    ';;',
    'echo >',
    'echo <',
  ]) {
    it(`answers ${JSON.stringify(command)} with an error, and goes on`, async () => {
      const { outcome, exitCode, stderr } = await suite.session.run(command, { timeoutMs });
      assert.equal(outcome, 'exited');
      assert.notEqual(exitCode, 0);
      assert.notEqual(stderr, '');
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });
  }

  for (const [name, command, stdout] of [
    ['a trailing semicolon', 'echo a;', 'a\n'],
    ['a trailing comment', 'echo a # b', 'a\n'],
    ['a comment with an unbalanced quote', "echo a # it's", 'a\n'],
    ['an exclamation mark', 'echo "a!b" !', 'a!b !\n'],
    ['tabs', 'echo\ta\tb', 'a b\n'],
    ['several lines', 'echo a\n\necho b\n', 'a\nb\n'],
    ['a continued line', 'echo a \\\n  b', 'a b\n'],
    ['a heredoc', 'cat <<END\none\n  two\nEND', 'one\n  two\n'],
    ['a heredoc that keeps its dollar signs', "cat <<'END'\n$HOME `x`\nEND\necho c", '$HOME `x`\nc\n'],
    ['a heredoc with tabs taken away', 'cat <<-END\n\tone\n\tEND', 'one\n'],
    ['two heredocs on one line', 'cat <<A; cat <<B\n1\nA\n2\nB', '1\n2\n'],
    ['a heredoc without an end', 'cat <<END\nhello', 'hello\n'],
    ['an alias defined and used in one command', "alias hi='echo hi'\nhi", 'hi\n'],
    ['a function defined and used in one command', 'f() { echo "f $1"; }; f 1', 'f 1\n'],
    ['a command that ends in the name of a keyword', 'echo done', 'done\n'],
    ['a history reference', 'echo !!', '!!\n'],
  ] as const) {
    it(`understands ${name}`, async () => {
      const { outcome, exitCode, stdout: printed } = await suite.session.run(command, { timeoutMs });
      assert.deepEqual([outcome, exitCode, printed], ['exited', 0, stdout]);
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });
  }

  // zsh reads on to the end of the file and is content with nothing.
  for (const [command, printed] of [
    ['for x in 1 2', ''],
    ['echo a &&', 'a\n'],
    ['echo a ||', 'a\n'],
  ] as const) {
    it(`answers the unfinished ${JSON.stringify(command)}, and goes on`, async () => {
      const expected = { bash: { exitCode: 2, stderr: /syntax error/ }, zsh: { stdout: printed } };
      await suite.session.expect(command, expected[suite.shell], { timeoutMs });
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });
  }

  for (const broken of ['if [[ -f x ; then echo y; fi', '[[ a ==']) {
    it(`runs what comes after ${JSON.stringify(broken)} as ever`, async () => {
      const { session } = suite;
      const next = [
        () => session.expect('eval true'),
        () => session.expect("trap 'echo' INT"),
        () => session.expect('echo $A', { stdout: 'x\n' }, { env: { A: 'x' } }),
        () => session.expect('pwd', { stdout: '/usr\n' }, { cwd: '/usr' }),
        () => session.expect('printf() { :; }; (exit 5)', { exitCode: 5 }),
        () => session.expect('echo $A', { stdout: 'x\n' }, { env: { A: 'x' } }),
      ];
      for (const expectNext of next) {
        const { outcome, exitCode } = await session.run(broken, { timeoutMs });
        assert.deepEqual([outcome, exitCode === 0], ['exited', false]);
        await expectNext();
      }
    });
  }

  it('takes a trailing backslash', async () => {
    await suite.session.expect('echo a \\', { stdout: 'a\n' }, { timeoutMs });
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('takes lines that end in CRLF', async () => {
    // To a shell the carriage return is a character like any other.
    await suite.session.expect('echo a\r\necho b\r\n', { stdout: 'a\r\nb\r\n' }, { timeoutMs });
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('takes a trailing ampersand, and still gets the output', async () => {
    const command = await suite.session.start('echo a &');
    assert.equal((await command.wait()).exitCode, 0);
    await until('the output is there', async () => (await command.stdout()) === 'a\n');
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  for (const [size, bytes] of [
    ['64 KB', 64 * 1024],
    ['2 MB', 2 * 1024 * 1024],
  ] as const) {
    it(`takes a command of ${size} in one line`, async () => {
      const text = 'y'.repeat(bytes);
      const { exitCode, stdout } = await suite.session.run(`text='${text}'; echo "\${#text}"`, { timeoutMs: 25_000 });
      assert.deepEqual([exitCode, stdout], [0, `${bytes}\n`]);
    });

    it(`takes a command of ${size} in many lines`, async () => {
      const count = Math.floor(bytes / 10);
      const { exitCode, stdout } = await suite.session.run(`n=0\n${'let n+=1;\n'.repeat(count)}echo $n`, {
        timeoutMs: 25_000,
      });
      assert.deepEqual([exitCode, stdout], [0, `${count}\n`]);
    });
  }

  it('answers whatever it is given, and goes on', async () => {
    const word = fc.constantFrom(
      ...[
        "'",
        '"',
        '`',
        '(',
        ')',
        '{',
        '}',
        '$(',
        '${',
        '((',
        '))',
        '[[',
        ']]',
        '<<',
        '<<<',
        '>',
        '<',
        '|',
        '&',
        ';',
        '\n',
      ],
      ...[
        '&&',
        '||',
        ';;',
        '!',
        '#',
        '\\',
        '*',
        '?',
        '~',
        '$',
        'a',
        'echo',
        'if',
        'then',
        'fi',
        'for',
        'in',
        'do',
        'done',
      ],
      ...['case', 'esac', 'function', 'f()', 'x=1', '2>&1', '\r', '\t', 'é', '[', ']', '%', '=', ','],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 12 }), async (words) => {
        const { session } = suite;
        await session.run(words.join(' '), { timeoutMs: 3000 });
        assert.equal(await session.text('builtin printf ok', { timeoutMs }), 'ok');
      }),
      { numRuns: 60 },
    );
  });
});
