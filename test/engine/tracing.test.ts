import assert from 'node:assert/strict';
import { forEachShell } from '../helpers/engine';

/** What a trace has of the wrapper's. */
const ours = /__lmp|LIMPET|expand_aliases|\. \S*\/c\.\d/;

forEachShell('Tracing', (suite) => {
  it('shows nothing of what ends the shell but the user’s own', async () => {
    const { session } = suite;
    await session.run('x=kept; set -x');
    const { outcome, exitCode, stderr } = await session.run('exit 5');
    assert.deepEqual([outcome, exitCode], ['shell_exited', 5]);
    assert.match(stderr, /exit 5\n$/);
    assert.doesNotMatch(stderr, ours);
    assert.equal(await session.text('echo $x'), 'kept\n');
  });

  it('shows nothing of what ends a subshell', async () => {
    const { session } = suite;
    const { exitCode, stderr } = await session.run('set -x; (exit 7)');
    assert.equal(exitCode, 7);
    assert.match(stderr, /exit 7\n$/);
    assert.doesNotMatch(stderr, ours);
  });

  it('shows nothing of what starts a command in the background, and lets its traps speak', async () => {
    const { session } = suite;
    await session.run('set -x');
    for (const [text, exitCode] of [
      ["trap 'echo bye >&2' EXIT; echo hi >&2; exit 3", 3],
      ["trap 'echo bye >&2' EXIT; echo hi >&2", 0],
    ] as const) {
      const { stderr = '', ...result } = await (await session.start(text, { background: true })).wait();
      assert.equal(result.exitCode, exitCode);
      assert.doesNotMatch(stderr, ours);
      assert.match(stderr, /[+>] echo hi\n/);
      assert.deepEqual(stderr.match(/^(hi|bye)$/gm), ['hi', 'bye']);
    }
  });

  it('that is off leaves a trap of a command in the background its stderr, also under set -e', async () => {
    const text = "set -e; trap 'echo bye >&2' EXIT; echo hi >&2; false; echo no";
    const { exitCode, stdout, stderr } = await (await suite.session.start(text, { background: true })).wait();
    assert.deepEqual([exitCode, stdout, stderr], [1, '', 'hi\nbye\n']);
  });

  it('leaves $? as it was', async () => {
    const { session } = suite;
    await session.run('set -x');
    await session.run('(exit 7)');
    const { stdout, stderr } = await session.run('echo $?');
    assert.equal(stdout, '7\n');
    assert.match(stderr, /^\S+ echo 7\n$/);
    await session.run('set -e; x=kept; true || false');
    assert.equal(await session.text('echo $? $x'), '0 kept\n');
    assert.equal(session.info().restarts, 0);
  });
});

forEachShell('A DEBUG trap', (suite) => {
  for (const trap of ["trap ':' DEBUG", ...(suite.shell === 'zsh' ? ['TRAPDEBUG() { :; }'] : [])]) {
    it(`leaves a background command its exit code: ${trap}`, async () => {
      const { session } = suite;
      await session.run(trap);
      for (const [text, exitCode] of [
        ['echo hi; exit 3', 3],
        ['echo hi; (exit 4)', 4],
        ['echo hi; set -e; (exit 5); echo no', 5],
      ] as const) {
        const result = await (await session.start(text, { background: true })).wait();
        assert.deepEqual([result.exitCode, result.signal, result.stdout], [exitCode, null, 'hi\n']);
      }
      await session.run('set -e');
      const failed = await (await session.start('false; echo no', { background: true })).wait();
      assert.deepEqual([failed.exitCode, failed.signal, failed.stdout], [1, null, '']);
    });
  }
});
