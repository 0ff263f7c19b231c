import assert from 'node:assert/strict';
import { fails, forEachShell } from '../helpers/engine';

forEachShell('A session works although', (suite) => {
  const inBackground = async (command: string) => {
    const { outcome, exitCode, stdout } = await (await suite.session.start(command, { background: true })).wait();
    return [outcome, exitCode, stdout];
  };

  it('more is exported than any program can be given', async () => {
    const { session } = suite;
    await session.run('export big=$(printf %200000s x)');
    await session.expect(`echo \${#big}; (exit 7)`, { stdout: '200000\n', exitCode: 7 });
    assert.deepEqual(await inBackground(`echo \${#big}; exit 7`), ['exited', 7, '200000\n']);
    await session.run('printf() { :; }');
    await session.expect('echo next; (exit 7)', { stdout: 'next\n', exitCode: 7 });
    await session.expect('exit 3', { outcome: 'shell_exited', exitCode: 3, notes: 'some' });
    await session.expect(`echo \${#big}`, { stdout: '200000\n' });
  });

  it('words are split at digits', async () => {
    const { session } = suite;
    if (suite.shell === 'zsh') await session.run('setopt shwordsplit');
    await session.run('x=kept; IFS=0123456789');
    await session.expect('false', { exitCode: 1 });
    await session.expect('(exit 7)', { exitCode: 7 });
    assert.deepEqual(await inBackground('(exit 5); exit 5'), ['exited', 5, '']);
    await fails(() => session.run('true', { env: { UID: '1' } }), 'invalid_params');
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.equal(session.info().restarts, 0);
  });

  it('what sources files was disabled', async () => {
    const { session, shell } = suite;
    await session.expect(shell === 'bash' ? 'enable -n .' : 'disable .');
    await session.expect('echo still; (exit 7)', { stdout: 'still\n', exitCode: 7 });
    await session.expect('pwd', { stdout: '/usr\n' }, { cwd: '/usr' });
  });

  it('what sources files was taken away by a command that fails without a word', async () => {
    const { session, shell } = suite;
    await session.run('x=kept');
    for (const command of [shell === 'bash' ? 'enable -n .' : 'disable .', '.() { return 1; }']) {
      await session.expect(`${command}; false`, { exitCode: 1 });
      await session.expect('echo "$x"', { stdout: 'kept\n' });
    }
    assert.equal(session.info().restarts, 0);
  });

  it('what reports was given to a function, and there is no PWD', async () => {
    const { session } = suite;
    await session.run('printf() { :; }; builtin() { :; }');
    await session.run('unset PWD; set -u');
    await session.expect('echo still; (exit 7)', { stdout: 'still\n', exitCode: 7 });
    assert.equal(session.info().restarts, 0);
  });

  it('functions have the names of what takes a disabled one back, and read their input', async () => {
    const { session } = suite;
    await session.run('enable() { read -r answer; got=$answer; }; unset() { read -r answer; got=$answer; }');
    for (const command of ['set -- a b', 'eval true', 'echo hello']) {
      await session.expect(command, { stdout: command === 'echo hello' ? 'hello\n' : '' });
    }
    await session.expect('echo "<$got>"', { stdout: '<>\n' });
  });

  it('its environment asks for POSIX mode', async () => {
    const { opened, shell } = suite;
    for (const env of [{ POSIXLY_CORRECT: '1' }, { SHELLOPTS: 'posix' }]) {
      const session = await opened.session(shell, { env });
      await session.expect('x=kept; echo out; echo err >&2; (exit 7)', {
        ...{ stdout: 'out\n', stderr: 'err\n', exitCode: 7 },
      });
      const { stderr } = await session.expect('exit 3', { outcome: 'shell_exited', exitCode: 3, notes: 'some' });
      assert.equal(stderr, '');
      await session.expect('echo $x', { stdout: 'kept\n' });
      await session.destroy();
    }
  });

  it('there is a trap on ERR, which runs once and leaves $? as it was', async () => {
    const { session } = suite;
    await session.run("trap 'echo failed' ERR");
    for (const [command, status] of [
      ['false', 1],
      ['(exit 5)', 5],
      ["sh -c 'exit 6'", 6],
    ] as const) {
      await session.expect(command, { stdout: 'failed\n', exitCode: status });
      await session.expect('echo $?', { stdout: `${status}\n` });
    }
  });

  if (suite.shell === 'bash') {
    it('a trap keeps what is started in the background from saying so', async () => {
      const { session } = suite;
      await session.run("shopt -s extdebug; set -T; trap '[[ $BASH_COMMAND != __lmp_p* ]]' DEBUG");
      const starting = session.start('echo hi', { background: true });
      const { outcome, exitCode, stdout } = await session.run('echo next; (exit 7)');
      assert.deepEqual([outcome, exitCode, stdout], ['exited', 7, 'next\n']);
      assert.notEqual((await (await starting).wait()).outcome, undefined);
    });
  }
});

forEachShell('A session with too large an environment', (suite) => {
  it('is refused, and says so', async () => {
    const { message } = await fails(
      () => suite.opened.session(suite.shell, { env: { BIG: 'x'.repeat(200_000) } }),
      'invalid_params',
    );
    assert.match(message, /env is larger/);
  });
});
