import { forEachShell } from '../helpers/engine';

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
});
