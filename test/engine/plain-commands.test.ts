import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandResult } from '../../protocol/values';
import { forEachShell } from '../helpers/engine';

const commands = [
  'true',
  'false',
  'echo two  words',
  'echo *',
  'echo a ~ b',
  'nosuchprogram',
  'cd /',
  'pwd',
  'cd nosuchdirectory',
  'pwd',
  'a=1',
  'printenv a',
  'export a=b=c',
  'printenv a',
  'a=2 printenv a',
  'unset a',
  'printenv a',
  'ls nosuchfile',
  'sh -c nosuchprogram',
  'umask 077',
  'umask',
  'jobs',
  'wait',
  'read x',
  'cat',
  'local x',
  'break',
  'return 3',
  'if true',
  'done',
  'test -e nosuchfile',
  '/',
  'kill -0 0',
  '-',
  '   ',
  '=',
  'echo a:b,c+d@e%f',
];

/** What a command did, as far as it is the same in every session. */
const gist = ({ outcome, exitCode, signal, stdout, cwd, stderr }: CommandResult) => ({
  outcome,
  exitCode,
  signal,
  stdout,
  cwd,
  // A shell says in which file, if any, it found what is wrong.
  stderr: stderr.replace(/^(bash: )?(\S*\/c:)?(\d+:)? ?(line \d+: )?/gm, ''),
});

forEachShell('Plain commands', (suite) => {
  it('do the same whether or not the session has anything for which they are run from a file', async () => {
    const { opened, shell } = suite;
    const cwd = suite.session.cwd;
    const [plain, other] = [await opened.session(shell, { cwd }), await opened.session(shell, { cwd })];
    await other.run('trap : USR1');
    for (const command of commands) {
      const [one, two] = [await plain.run(command), await other.run(command)];
      assert.deepEqual({ command, ...gist(one) }, { command, ...gist(two) });
    }
  });

  it('that die of a signal leave no word of the shell’s', async () => {
    const { session } = suite;
    await writeFile(join(session.cwd, 'dies'), '#!/bin/sh\nkill -SEGV $$\n', { mode: 0o755 });
    const { exitCode, stderr } = await session.run('./dies');
    assert.deepEqual({ exitCode, stderr }, { exitCode: 139, stderr: (await session.run('./dies; (exit $?)')).stderr });
  });

  // zsh has no such options.
  if (suite.shell === 'bash')
    it('do as other commands do when an option of the shell tells them to', async () => {
      const { session } = suite;
      await session.run('mkdir folder; shopt -s autocd cdspell');
      await session.expect('cd fodler', { exitCode: 1, stderr: /No such file/ });
    });

  it('that call a function leave no word about the jobs it starts, nor about its exit', async () => {
    const { session } = suite;
    await session.run('start() { sleep 0.01 >/dev/null 2>&1 & }; leave() { exit 4; }');
    assert.equal((await session.run('start')).stderr, '');
    await session.expect('leave', { outcome: 'shell_exited', exitCode: 4, notes: 'some' });
  });

  it('that are an alias leave no word about the jobs it starts', async () => {
    const { session } = suite;
    await session.run("alias start='sleep 0.01 >/dev/null 2>&1 &'");
    assert.equal((await session.run('start')).stderr, '');
  });

  it('are not given to a function called eval', async () => {
    const { session } = suite;
    await session.run('eval() { echo mine; }');
    await session.expect('echo hi', { stdout: 'hi\n' });
  });

  for (const text of [
    '.() { echo dot; }',
    '. () { echo dot; }',
    'function . { echo dot; }',
    "eval '.() { echo dot; }'",
  ]) {
    it(`run although a function has the name of what runs them: ${text}`, async () => {
      const { session } = suite;
      await session.run(text);
      await session.expect('echo hi', { stdout: 'hi\n' });
      await session.expect('pwd', { stdout: '/usr\n' }, { cwd: '/usr' });
      const { stdout } = await (await session.start('echo hi', { background: true })).wait();
      assert.equal(stdout, 'hi\n');
    });
  }
});
