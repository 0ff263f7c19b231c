import assert from 'node:assert/strict';
import { fails, forEachShell } from '../helpers/engine';

forEachShell("A command's own variables", (suite) => {
  const count = 150;
  const names = Array.from({ length: count }, (_, n) => `v${n}`);

  it('are taken back however long it takes to set them, and none is left in the next command', async () => {
    const { session } = suite;
    await session.run(names.map((name) => `export ${name}=own`).join('; '));
    const env = { ...Object.fromEntries(names.map((name) => [name, 'lent'])), ONLY_HERE: 'x' };
    for (let n = 0; n < 3; n++) {
      await session.expect('echo $v0 $v149 $ONLY_HERE', { stdout: 'lent lent x\n' }, { env });
      await session.expect('echo $v0 $v149 $ONLY_HERE', { stdout: 'own own\n' });
    }
  });

  it('are taken back when one of our words is a function of the user, too', async () => {
    const { session } = suite;
    await session.run('printf() { :; }');
    for (let n = 0; n < 2; n++) {
      await session.expect('echo $ONLY_HERE', { stdout: 'x\n' }, { env: { ONLY_HERE: 'x' } });
      await session.expect('echo "<$ONLY_HERE>"', { stdout: '<>\n' });
    }
  });

  it('are exported afterwards only if they were before', async () => {
    const { session } = suite;
    await session.run('plain=own; export seen=own; export empty; typeset -A map; map[k]=v');
    await session.expect('echo $empty', { stdout: 'lent\n' }, { env: { empty: 'lent' } });
    await session.expect(`echo "<$empty>" "\${map[k]}"`, { stdout: '<> v\n' });
    await session.expect(
      "sh -c 'echo $plain $seen'",
      { stdout: 'lent lent\n' },
      { env: { plain: 'lent', seen: 'lent' } },
    );
    await session.expect('echo $plain $seen; sh -c \'echo "<$plain> $seen"\'', { stdout: 'own own\n<> own\n' });
  });

  for (const name of ['eval', 'unset']) {
    it(`are refused where ${name} is not what it seems, and nothing is run or left behind`, async () => {
      const { session } = suite;
      await session.run(`mkdir own; ${suite.shell === 'zsh' ? 'disable' : 'enable -n'} ${name}`);
      const { message } = await fails(() => session.run('touch ran', { env: { ONLY_HERE: 'x' } }), 'invalid_params');
      assert.match(message, /disabled builtin/);
      await fails(() => session.run('touch ran', { cwd: `${session.cwd}/own` }), 'invalid_params');
      await session.expect('echo "<$ONLY_HERE>"; ls . own', { stdout: '<>\n.:\nown\n\nown:\n' });
    });
  }

  if (suite.shell === 'bash') {
    it('are refused where a function is called command', async () => {
      const { session } = suite;
      await session.run('command() { echo hijacked; }');
      await fails(() => session.run('touch ran', { env: { ONLY_HERE: 'x' } }), 'invalid_params');
      await fails(() => session.run('touch ran', { cwd: '/usr' }), 'invalid_params');
      await session.expect('ls; pwd', { stdout: `${session.cwd}\n` });
    });
  }

  it('that cannot be set keep a command in the background from being run', async () => {
    const { session } = suite;
    await session.run('readonly fixed=1');
    // Whoever starts it is told, if it is known by then; otherwise whoever waits for it.
    const refused = async () => (await session.start('touch ran', { background: true, env: { fixed: '2' } })).wait();
    const { message } = await fails(refused, 'invalid_params');
    assert.match(message, /env names a variable that cannot be set/);
    await session.expect('ls', { stdout: '' });
    assert.equal(session.info().backgroundCount, 0);
  });

  it('are refused where they would change the shell itself', async () => {
    const { session } = suite;
    const own = suite.shell === 'zsh' ? ['UID', 'EUID', 'GID', 'EGID', 'USERNAME'] : ['UID', 'EUID'];
    for (const name of [...own, '__lmp_s', '__lmp']) {
      await fails(() => session.run('echo ran', { env: { ONLY_HERE: 'x', [name]: '3' } }), 'invalid_params');
      await session.expect('echo "<$ONLY_HERE>"', { stdout: '<>\n' });
    }
    assert.equal(session.info().restarts, 0);
  });
});

forEachShell("A command's own directory", (suite) => {
  const where = 'echo "$PWD $OLDPWD"; readlink /proc/$$/cwd; ls';

  it('is refused where the directory before is read-only, and nothing is run', async () => {
    const { session } = suite;
    await session.run('readonly OLDPWD');
    await fails(() => session.run('touch ran', { cwd: '/usr' }), 'invalid_params');
    await session.expect('pwd; ls', { stdout: `${session.cwd}\n` });
  });

  it('is left again although the session’s own was removed', async () => {
    const { session } = suite;
    const cwd = `${session.cwd}/d/e`;
    await session.run('mkdir -p d/e; cd d; cd e; rm -rf ../../d');
    await session.expect('pwd', { stdout: '/usr\n', cwd }, { cwd: '/usr' });
    await session.expect(where, { stdout: `${cwd} ${session.cwd}/d\n${cwd} (deleted)\n`, cwd });
  });

  it('is none of the session’s when one of our words is a function of the user, either', async () => {
    const { session } = suite;
    await session.run('printf() { :; }');
    for (let n = 0; n < 3; n++)
      await session.expect('pwd; (exit 4)', { stdout: '/usr\n', exitCode: 4 }, { cwd: '/usr' });
    assert.equal(session.info().cwd, session.cwd);
  });

  it('holds nothing open for longer than the command', async () => {
    const { session } = suite;
    const count = 'set -- /proc/$$/fd/*; echo $#';
    await session.run('mkdir own; cd own; rmdir ../own');
    const before = await session.text(count);
    for (let n = 0; n < 3; n++) await session.run('true', { cwd: '/' });
    assert.equal(await session.text(count), before);
  });

  it('is left for the session’s first when the command removes the session’s own, and a note says so', async () => {
    const { session } = suite;
    await session.run('mkdir own; cd own');
    const { notes } = await session.expect('rmdir own', { notes: 'some' }, { cwd: session.cwd });
    assert.match(notes.join(' '), /gone/);
    await session.expect('pwd', { stdout: `${session.cwd}\n` });
    await session.expect('true', {}, { cwd: '/usr' });
  });

  it('is left under set -e, without PWD, and without printf', async () => {
    const { session } = suite;
    const cwd = `${session.cwd}/own`;
    await session.run('mkdir own; cd own');
    await session.run(suite.shell === 'bash' ? 'enable -n printf' : 'disable printf');
    await session.run('true', { cwd: '/usr' });
    await session.expect('pwd', { stdout: `${cwd}\n`, cwd });
    await session.run('unset PWD; set -e');
    await session.run('true', { cwd: '/usr' });
    assert.equal(await session.text('readlink /proc/$$/cwd'), `${cwd}\n`);
  });
});
