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
