import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { holdAt } from '../../sidecar/checkpoints';
import { forEachShell, until } from '../helpers/engine';
import { statusOf } from '../helpers/processes';

const ended = { outcome: 'shell_exited', exitCode: 3, notes: 'some' } as const;

forEachShell('What a fresh shell is given', (suite) => {
  const snapshot = () => join(suite.opened.runtimeDir, 'sessions', suite.session.id, 'snapshot');
  const saved = (text: string) =>
    until('its state is saved', () => existsSync(snapshot()) && readFileSync(snapshot(), 'utf8').includes(text));

  /** Whatever is left of a shell that was given up would read lines that are meant for the one that is there. */
  const onlyOneShellReads = async () => {
    const { pid } = suite.session.info();
    for (let n = 0; n < 8; n++) await suite.session.expect('echo $$', { stdout: `${pid}\n` });
  };

  it('are exported variables if the rest cannot be read, and no other shell is left to read its lines', async () => {
    const { session, shell } = suite;
    await session.run(`export x=kept; function ${shell === 'bash' ? 'a=b' : 'if'} { :; }`);
    const { notes } = await session.expect('exit 3', ended);
    assert.match(notes.join(' '), /Restored: directory and exported variables only/);
    await onlyOneShellReads();
    await session.expect('echo $x', { stdout: 'kept\n' });
  });

  it('is the session as it was created if nothing can be read', async () => {
    const { session } = suite;
    await session.run('export x=lost; y=lost');
    await saved('lost');
    await session.run(`echo '(' > '${snapshot()}'; echo '(' > '${snapshot()}.environment'; kill -9 $$`);
    assert.match(session.info().notes.join(' '), /Restored: only the directory and environment/);
    await onlyOneShellReads();
    await session.expect('echo "<$x$y>"', { stdout: '<>\n' });
  });

  it('has no variable that was unset, and exports none that was not exported any more', async () => {
    const { opened, shell } = suite;
    const session = await opened.session(shell, { env: { GONE: 'x', KEPT: 'y', HIDDEN: 'z' } });
    await session.run('unset GONE; typeset +x HIDDEN');
    for (const end of ['exit 3', 'kill -9 $$']) {
      assert.equal((await session.run(end)).outcome, 'shell_exited');
      await session.expect('echo "<$GONE> $KEPT $HIDDEN"; sh -c \'echo "<$GONE> $KEPT <$HIDDEN>"\'', {
        stdout: '<> y z\n<> y <>\n',
      });
    }
  });

  for (const name of ['PWD', 'OLDPWD']) {
    it(`is in the directory of the one before, also where ${name} is read-only`, async () => {
      const { session } = suite;
      await session.run(`cd /usr; readonly ${name}`);
      const { notes } = await session.expect('exit 3', { ...ended, cwd: '/usr' });
      assert.doesNotMatch(notes.join(' '), /gone/);
      await session.expect('echo "$PWD"; readlink /proc/$$/cwd', { stdout: '/usr\n/usr\n', cwd: '/usr' });
    });
  }

  it('has the positional parameters, whatever is called as that which shifts them', async () => {
    const { session } = suite;
    await session.run('shift() { :; }; command() { builtin command "$@"; }');
    await session.run('set -- a "b c"');
    await session.expect('exit 3', ended);
    await session.expect('echo "$# <$1> <$2>"', { stdout: '2 <a> <b c>\n' });
  });

  it('has the options, whatever words are aliases', async () => {
    const { session } = suite;
    await session.run("alias set='echo no' setopt='echo no'; \\set -o pipefail; kept=yes");
    await session.expect('exit 3', ended);
    await session.expect('[[ -o pipefail ]] && echo "$kept"', { stdout: 'yes\n' });
    assert.match(await session.text('\\alias set'), /set='echo no'/);
  });

  if (suite.shell === 'zsh') {
    it('has everything with sh_file_expansion, and the hook of the one before does not show', async () => {
      const { session } = suite;
      await session.run('setopt sh_file_expansion; x=kept');
      await session.expect('(exit 4)', { exitCode: 4 });
      await session.expect('exit 3', ended);
      await session.expect('echo $x', { stdout: 'kept\n' });
    });
  }

  it('has the variables of the session, not those that were local in the functions that ended the shell', async () => {
    const { session } = suite;
    await session.run('x=own; list=(1 2); outer() { local x=local IFS=,; local -a list; list=(9); inner; }');
    await session.run('inner() { local x=deeper; changed=yes; exit 3; }');
    await session.expect('outer', ended);
    await session.expect(`echo "$x \${list[@]} $changed"; printf %s "$IFS" | od -An -tx1`, {
      stdout: `own 1 2 yes\n 20 09 0a${suite.shell === 'bash' ? '' : ' 00'}\n`,
    });
  });

  it('has what was set by the command during which a snapshot came late', async () => {
    const { session } = suite;
    const { pid } = session.info();
    assert.ok(pid !== null);
    await session.run('x=old');
    process.kill(pid, 'SIGSTOP');
    await until('the shell is stopped', () => statusOf(pid)?.state === 'T');
    holdAt((point) => point === 'command-sent' && process.kill(pid, 'SIGCONT'));
    // Its text asks for a snapshot before it, which the stopped shell does not take in time.
    await session.expect('x=changed; : kill');
    holdAt(undefined);
    await saved('changed');
    process.kill(pid, 'SIGKILL');
    await until('the shell is gone', () => statusOf(pid) === undefined);
    await session.expect('echo $x', { stdout: 'changed\n', notes: 'some' });
  });

  it('remembers how the one before ended', async () => {
    const { session } = suite;
    await session.run('kill -9 $$');
    await session.expect('echo $?', { stdout: '137\n' });
  });

  if (suite.shell === 'bash') {
    it('are functions that need an option which was on only while they were defined', async () => {
      const { session } = suite;
      await session.run("shopt -s extglob; eval 'others() { echo !(a); }'; shopt -u extglob; x=kept");
      await session.expect('exit 3', ended);
      await session.expect('shopt -p extglob; echo $x; others', { stdout: 'shopt -u extglob\nkept\n!(a)\n' });
    });

    it('is everything after set -t, which ends a shell with its next command', async () => {
      const { session } = suite;
      await session.run('x=kept');
      assert.equal((await session.run('set -t')).outcome, 'shell_exited');
      await session.expect('echo $x', { stdout: 'kept\n' });
      assert.equal(session.info().restarts, 1);
    });
  } else {
    it('are aliases of endings, too', async () => {
      const { session } = suite;
      await session.run('alias -s txt=cat');
      await session.expect('exit 3', ended);
      await session.expect('alias -s', { stdout: 'txt=cat\n' });
    });
  }
});

forEachShell('A command for a shell that is just killed', (suite) => {
  it('is run by the next one, once, also when the first bytes of its line had been read', async () => {
    const { session, opened } = suite;
    for (const count of [0, 1, 5]) {
      const { pid } = session.info();
      assert.ok(pid !== null);
      process.kill(pid, 'SIGSTOP');
      await until('the shell is stopped', () => statusOf(pid)?.state === 'T');
      const command = await session.start(`echo ${count} >> ran; echo ${count}; false`);
      const lines = openSync(join(opened.runtimeDir, 'sessions', session.id, 'in'), 'r+');
      if (count > 0) assert.equal(readSync(lines, Buffer.alloc(count)), count);
      closeSync(lines);
      process.kill(pid, 'SIGKILL');
      const { outcome, exitCode, stdout } = await command.wait();
      assert.deepEqual([outcome, exitCode, stdout], ['exited', 1, `${count}\n`]);
    }
    await session.expect('cat ran', { stdout: '0\n1\n5\n' });
  });
});
