import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachShell, type ShellSuite, until } from '../helpers/engine';
import { isAlive } from '../helpers/processes';

const oddNames = [
  'with spaces',
  "a'b",
  'a"b',
  'a\nb',
  'ends in newline\n',
  '-dash',
  '$(echo x)',
  '`x`',
  'ünï',
  'a\\b',
  '*',
  '!',
];

/** The shell, under its own name, as somebody whom permissions bind; they do not bind root. */
async function withoutPrivileges({ opened, session, shell }: ShellSuite): Promise<string> {
  if (process.getuid?.() !== 0) return shell;
  const path = join(await opened.directory(), shell);
  const drop = 'setpriv --inh-caps=-all --bounding-set=-all';
  await writeFile(path, `#!/bin/sh\nexec ${drop} '${session.created.shellPath}' "$@"\n`, { mode: 0o700 });
  return path;
}

forEachShell('Shell life', (suite) => {
  it('gives each command its own id, also when a function of the user’s swallows reports', async () => {
    const { session } = suite;
    const name = suite.shell === 'bash' ? 'printf' : 'builtin';
    await session.run(`${name}() { :; }`);
    for (let n = 0; n < 3; n++) {
      const { stdout, commandId } = await session.run('sh -c \'echo "$LIMPET_COMMAND_ID"\'');
      assert.equal(stdout, `${commandId}\n`);
    }
  });

  const next = () => suite.session.run('echo next');

  it('answers exit with its code and goes on in a fresh shell', async () => {
    const { session } = suite;
    await session.run('x=kept');
    await session.expect('exit 42', { outcome: 'shell_exited', exitCode: 42, notes: 'some' });
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.equal(session.info().restarts, 1);
    assert.notEqual(session.info().pid, session.created.pid);
  });

  it('answers an exec of another program with what that program did', async () => {
    await suite.session.expect('exec true', { outcome: 'shell_exited', notes: 'some' });
    await suite.session.expect("exec sh -c 'echo replaced; exit 7'", {
      outcome: 'shell_exited',
      exitCode: 7,
      stdout: 'replaced\n',
      notes: 'some',
    });
    assert.equal((await next()).stdout, 'next\n');
  });

  it('survives an exec of a program that does not exist', async () => {
    const { session } = suite;
    await session.run('x=kept');
    await session.expect('exec no-such-program', {
      outcome: 'shell_exited',
      exitCode: 127,
      stderr: /no-such-program/,
      notes: 'some',
    });
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.equal(session.info().restarts, 1);
  });

  it('answers kill -9 of the shell with the signal and no exit code', async () => {
    await suite.session.expect('echo before; kill -9 $$; echo after', {
      outcome: 'shell_exited',
      exitCode: null,
      signal: 'SIGKILL',
      stdout: 'before\n',
      notes: 'some',
    });
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('is not ended by SIGTERM to the shell or to its group', async () => {
    const { session } = suite;
    await session.run('x=kept');
    await session.expect('kill -TERM $$');
    await session.run('kill -TERM 0');
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.equal(session.info().pid, session.created.pid);
  });

  it('goes on after a hang-up', async () => {
    const { session } = suite;
    await session.run('x=kept');
    // zsh exits by itself then.
    const ended = suite.shell === 'bash' ? { exitCode: null, signal: 'SIGHUP' } : { exitCode: 1 };
    await session.expect('kill -HUP $$; echo no', { outcome: 'shell_exited', ...ended, notes: 'some' });
    await session.expect('echo "$x"', { stdout: 'kept\n' });
  });

  it('returns what return gives', async () => {
    await suite.session.expect('return 3', { exitCode: 3 });
    await suite.session.expect('if true; then return 4; fi; echo no', { exitCode: 4 });
    assert.equal(suite.session.info().restarts, 0);
  });

  it('ends at the first failure under set -e, and says so', async () => {
    await suite.session.expect('set -e; false; echo no', { outcome: 'shell_exited', exitCode: 1, notes: 'some' });
    assert.equal((await next()).stdout, 'next\n');
  });

  it('works on with set -euo pipefail left on', async () => {
    const { session } = suite;
    await session.expect('set -euo pipefail');
    await session.expect('echo a | cat', { stdout: 'a\n' });
    await session.expect('if false; then :; fi; false || true');
    for (let time = 1; time <= 3; time++) {
      await session.expect('false | true; echo no', { outcome: 'shell_exited', exitCode: 1, notes: 'some' });
      assert.equal(session.info().restarts, time);
      await session.expect('[[ -o errexit && -o nounset && -o pipefail ]] && echo on', { stdout: 'on\n' });
    }
  });

  it('ends the command and not the shell at an unset variable', async () => {
    const { session } = suite;
    await session.run('x=kept; set -u');
    // What a sourced text answers that ends so: each shell has a status of its own.
    const exitCode = suite.shell === 'bash' ? 1 : 126;
    for (const command of ['echo "$nope"; echo no', `echo "\${nope:?is missing}"; echo no`]) {
      await session.expect(command, { exitCode, stderr: /nope/ });
      await session.expect('echo "$x"', { stdout: 'kept\n' });
    }
    assert.deepEqual([session.info().pid, session.info().restarts], [session.created.pid, 0]);
  });

  it("shows the user's lines under set -x and none of its own", async () => {
    const { session } = suite;
    await session.run('set -x');
    for (let time = 0; time < 2; time++) {
      const { stdout, stderr } = await session.run('echo hi');
      assert.equal(stdout, 'hi\n');
      assert.match(stderr, /^\+[^\n]*echo hi\n$/);
    }
    await session.run('set +x');
    await session.expect('echo hi', { stdout: 'hi\n' });
  });

  it("shows the user's lines under set -v and none of its own", async () => {
    const { session } = suite;
    await session.run('set -v');
    await session.expect('echo hi; echo\necho ho', { stdout: 'hi\n\nho\n', stderr: 'echo hi; echo\necho ho\n' });
    await session.run('set +v');
    await session.expect('echo hi', { stdout: 'hi\n' });
  });

  it("runs the user's EXIT trap when the shell ends", async () => {
    const { session } = suite;
    await session.expect("trap 'echo bye > bye' EXIT");
    await session.expect('echo hi', { stdout: 'hi\n' });
    assert.ok(!existsSync(join(session.cwd, 'bye')), 'not yet');
    const result = await session.run('x=kept; exit 5');
    assert.deepEqual([result.outcome, result.exitCode], ['shell_exited', 5]);
    assert.equal(await readFile(join(session.cwd, 'bye'), 'utf8'), 'bye\n');
    await session.expect('echo "$x"', { stdout: 'kept\n' });
  });

  it('runs an ERR trap once for each failure, and not for its own work', async () => {
    const { session } = suite;
    await session.expect("trap 'echo failed >&2' ERR");
    await session.expect('false', { exitCode: 1, stderr: 'failed\n' });
    await session.expect('echo fine', { stdout: 'fine\n' });
    await session.run("n=0; trap 'n=$((n+1))' ERR");
    await session.run('false');
    await session.expect('echo $n', { stdout: '1\n' });
  });

  it('hides its own work from a DEBUG trap', async () => {
    const { session } = suite;
    await session.run("trap 'echo debug' DEBUG");
    // bash does not pass it on to a text that is sourced.
    const stdout = suite.shell === 'bash' ? 'a\nb\n' : 'debug\na\ndebug\nb\n';
    for (let time = 0; time < 2; time++) await session.expect('echo a; echo b', { stdout });
    await session.run('trap - DEBUG');
    await session.expect('echo a', { stdout: 'a\n' });
  });

  it('tells the exit code of the very command that takes our words away', async () => {
    const { session } = suite;
    await session.expect('printf() { :; }; builtin() { :; }; (exit 5)', { exitCode: 5 });
    await session.expect('(exit 6)', { exitCode: 6 });
  });

  it('is replaced where a trap of bash skips whatever would report, so that the command is answered', async () => {
    const { session } = suite;
    await session.run('kept=here');
    // Other shells know neither the option nor a trap that skips.
    const { outcome } = await session.run("shopt -s extdebug 2>/dev/null && trap 'false' DEBUG || kill -9 $$");
    assert.equal(outcome, 'shell_exited');
    await session.expect('echo $kept', { stdout: 'here\n' });
  });

  it('keeps a trap on INT and still cancels', async () => {
    const { session } = suite;
    await session.run("trap 'echo interrupted' INT; x=kept");
    const command = await session.start('echo ready; sleep 60');
    await command.wait([{ output: 'ready' }]);
    assert.equal((await command.cancel()).outcome, 'cancelled');
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.match(await session.text('trap'), /echo interrupted' (SIG)?INT/);
    assert.equal(session.info().pid, session.created.pid);
  });

  for (const [name, trap, command, stdout] of [
    ['its trap on INT', "trap 'echo interrupted' INT", 'kill -INT $$; echo on', 'interrupted\non\n'],
    ['another trap', "trap 'echo interrupted' INT", "trap 'echo usr' USR1; kill -USR1 $$; echo on", 'usr\non\n'],
    [
      'a trap and none on INT any more',
      "trap 'echo interrupted' INT",
      "trap - INT; trap 'echo usr' USR1; kill -USR1 $$; echo on",
      'usr\non\n',
    ],
    ['a trap where there was none', ':', "trap 'echo usr' USR1; kill -USR1 $$; echo on", 'usr\non\n'],
  ] as const) {
    it(`leaves nothing of the interrupt of a cancelled command for the next, which runs ${name}`, async () => {
      const { session } = suite;
      await session.run(trap);
      const cancelled = await session.start('echo ready; sleep 60');
      await cancelled.wait([{ output: 'ready' }]);
      assert.equal((await cancelled.cancel()).outcome, 'cancelled');
      await session.expect(command, { stdout });
    });
  }

  it('takes redirections of the whole shell for one command', async () => {
    const { session } = suite;
    await session.expect('exec >hidden; echo hidden');
    assert.equal(await readFile(join(session.cwd, 'hidden'), 'utf8'), 'hidden\n');
    await session.expect('echo shown', { stdout: 'shown\n' });
    await session.expect('exec 2>&1; echo err >&2', { stdout: 'err\n' });
    await session.expect('echo err >&2', { stderr: 'err\n' });
    // What a sourced text answers that cannot print: each shell has a status of its own.
    await session.expect('exec 1>&- 2>&-; echo lost', { exitCode: suite.shell === 'bash' ? 1 : 126 });
    await session.expect('echo shown; echo err >&2', { stdout: 'shown\n', stderr: 'err\n' });
    await session.run('exec <hidden');
    await session.expect('cat');
  });

  it('keeps a descriptor that was opened for later commands', async () => {
    await suite.session.expect('exec 3>kept');
    await suite.session.expect('echo one >&3');
    await suite.session.expect('echo two >&3; exec 3>&-; cat kept', { stdout: 'one\ntwo\n' });
  });

  for (const command of ['set -r', 'ulimit -n 4', 'echo seen; ulimit -n 4; false']) {
    it(`goes on after "${command}", with which the shell can open nothing any more, and says so`, async () => {
      const { session, shell } = suite;
      await session.run('kept=here');
      const { outcome, exitCode, stdout, notes } = await session.run(command);
      // zsh cannot even report any more.
      const told = shell === 'zsh' ? ['shell_exited', null] : ['exited', command.includes('false') ? 1 : 0];
      assert.deepEqual([outcome, exitCode, stdout], [...told, command.includes('seen') ? 'seen\n' : '']);
      assert.match(notes.join('\n'), /goes on in a fresh one/);
      await session.expect('echo "$kept"', { stdout: 'here\n' });
    });
  }

  for (const descriptors of [5, 10, 11, 13, 15]) {
    it(`invents no exit code and loses no command with ${descriptors} descriptors`, async () => {
      const { session } = suite;
      await session.run('kept=here');
      const { exitCode, stdout } = await session.run(`ulimit -n ${descriptors}; echo a`);
      assert.deepEqual([stdout, exitCode === 0 || exitCode === null], ['a\n', true], `exit code ${exitCode}`);
      await session.expect('echo "$kept"', { stdout: 'here\n' });
      await session.expect('echo b | cat; (exit 3)', { stdout: 'b\n', exitCode: 3 });
    });
  }

  it('invents no exit code for a command that was given to a shell that can open nothing any more', async () => {
    const { session, shell } = suite;
    await session.run('less() { ulimit -n 4; }');
    const { notes: first } = await session.run('less');
    const { outcome, exitCode, notes } = await session.run('touch made');
    if (shell === 'bash') assert.deepEqual([outcome, exitCode], ['signaled', null]);
    assert.match([...first, ...notes].join('\n'), /goes on in a fresh one/);
    assert.equal(existsSync(join(session.cwd, 'made')), exitCode === 0);
    await session.expect('echo on', { stdout: 'on\n' });
  });

  it('takes a silent failure for what it is', async () => {
    await suite.session.expect('false', { exitCode: 1 });
    await suite.session.expect('test -e missing', { exitCode: 1 });
    await suite.session.expect('ulimit -c 0');
    assert.equal(suite.session.info().restarts, 0);
  });

  // Others know no descriptors of two digits.
  if (suite.shell === 'bash') {
    it('runs a command under set -e that names a descriptor the shell cannot have', async () => {
      const { session } = suite;
      await session.run('ulimit -n 100; set -e');
      await session.expect('echo start; exec 200>/dev/null || true; echo on', {
        ...{ stdout: 'start\non\n', stderr: /200/ },
      });
      assert.equal(session.info().restarts, 0);
    });

    for (const descriptor of [10, 11, 12, 200]) {
      it(`leaves descriptor ${descriptor} to the user`, async () => {
        const { session } = suite;
        await session.expect(`exec ${descriptor}>kept; echo one >&${descriptor}`);
        await session.expect(`echo two >&${descriptor}`);
        await session.expect(`exec ${descriptor}>&-; cat kept`, { stdout: 'one\ntwo\n' });
        await session.expect(`exec ${descriptor}<kept; cat <&${descriptor}`, { stdout: 'one\ntwo\n' });
        assert.equal(session.info().restarts, 0);
      });
    }
  }

  for (const name of [
    ...['printf', 'echo', 'cd', 'exit', 'builtin', 'command', 'source', 'eval', 'export', 'return', 'trap', 'read'],
    ...['test', 'set', 'unset', 'declare', 'typeset', 'local', 'kill', 'wait', 'exec', 'umask', 'alias', 'pwd', 'true'],
  ]) {
    it(`works with a function named ${name}`, async () => {
      const { session } = suite;
      await session.run(`function ${name} { /bin/echo hijacked; }`);
      for (let time = 0; time < 2; time++) {
        await session.expect("sh -c 'echo fine; exit 7'", { stdout: 'fine\n', exitCode: 7 });
      }
      const background = await session.start("sh -c 'echo there; exit 7'", { background: true });
      const { outcome, exitCode, stdout } = await background.wait();
      assert.deepEqual([outcome, exitCode, stdout], ['exited', 7, 'there\n']);
    });

    it(`works with an alias named ${name}`, async () => {
      const { session } = suite;
      await session.run(`alias ${name}='/bin/echo hijacked'`);
      for (let time = 0; time < 2; time++) {
        await session.expect("sh -c 'echo fine; exit 7'", { stdout: 'fine\n', exitCode: 7 });
      }
    });
  }

  it('comes back after exit from a shell full of hijacked names', async () => {
    const { session } = suite;
    await session.run('function printf { /bin/echo hijacked; }; function cd { /bin/echo hijacked; }; x=kept');
    assert.equal((await session.run('exit 3')).exitCode, 3);
    assert.equal(await session.text('/bin/echo "$x"'), 'kept\n');
  });

  it('works with any IFS', async () => {
    const { session } = suite;
    for (const assignment of ["IFS=''", 'IFS=0123456789', "IFS='/'", 'IFS=e', 'unset IFS']) {
      await session.run(assignment);
      await session.expect("sh -c 'echo a b; exit 12'", { stdout: 'a b\n', exitCode: 12 });
    }
  });

  it('prints nothing of prompts and hooks', async () => {
    const { session } = suite;
    await session.run(
      "PS1='prompt> '; PS2='more> '; PROMPT_COMMAND='echo hook; echo hook >&2'; precmd() { echo hook; }; preexec() { echo hook; }",
    );
    for (let time = 0; time < 2; time++) await session.expect('echo a', { stdout: 'a\n' });
  });

  it('prints no news of jobs', async () => {
    await suite.session.expect('sleep 0.01 & wait');
    await suite.session.expect('echo a', { stdout: 'a\n' });
  });

  it('goes on in a directory that was deleted', async () => {
    const { session } = suite;
    const gone = join(session.cwd, 'gone');
    await session.expect('mkdir gone; cd gone; rmdir ../gone', { cwd: gone });
    await session.expect('echo still here', { stdout: 'still here\n', cwd: gone });
    const background = await session.start('echo there', { background: true });
    assert.equal((await background.wait()).stdout, 'there\n');
    await session.expect(`cd ${session.cwd}; pwd`, { stdout: `${session.cwd}\n` });
  });

  it('goes on in a directory that was renamed', async () => {
    const { session } = suite;
    await session.run('mkdir old; cd old; mv ../old ../new');
    const old = join(session.cwd, 'old');
    await session.expect('echo "$PWD"; ls -d "$(readlink /proc/$$/cwd)"', {
      stdout: `${old}\n${join(session.cwd, 'new')}\n`,
      cwd: old,
    });
    await session.expect(`cd ${session.cwd}; echo a`, { stdout: 'a\n' });
  });

  it('goes on in a directory that was closed to it', async () => {
    const { opened, shell } = suite;
    const session = await opened.session(await withoutPrivileges(suite));
    const closed = join(session.cwd, 'closed');
    await session.run('mkdir closed; cd closed; chmod 000 .');
    await session.expect('ls', { exitCode: 2, stderr: /Permission denied/, cwd: closed });
    await session.expect('echo a', { stdout: 'a\n', cwd: closed });
    const background = await session.start('echo there', { background: true });
    assert.equal((await background.wait()).stdout, 'there\n', shell);
    await session.expect(`cd ${session.cwd}; chmod 700 closed; ls closed; echo a`, { stdout: 'a\n' });
  });

  for (const name of oddNames) {
    it(`works in a directory called ${JSON.stringify(name)}`, async () => {
      const { session, opened, shell } = suite;
      const cwd = join(session.cwd, name);
      await mkdir(cwd);
      await session.expect(`cd -- '${cwd.replaceAll("'", "'\\''")}'`, { cwd });
      await session.expect('pwd', { stdout: `${cwd}\n`, cwd });
      await session.expect('exit 3', { outcome: 'shell_exited', exitCode: 3, cwd, notes: 'some' });
      await session.expect('pwd', { stdout: `${cwd}\n`, cwd });
      await (await opened.session(shell, { cwd })).expect('pwd', { stdout: `${cwd}\n` });
      await (await opened.session(shell)).run('pwd', { cwd }).then(({ stdout }) => assert.equal(stdout, `${cwd}\n`));
    });
  }

  it('carries $? and $! to the next command', async () => {
    const { session } = suite;
    await session.run("sh -c 'exit 7'");
    await session.expect('echo $?', { stdout: '7\n' });
    await session.expect('echo $?', { stdout: '0\n' });
    await session.run('sleep 60 >/dev/null 2>&1 & started=$!');
    const [last, started] = (await session.text('echo $! $started')).split(' ').map(Number);
    assert.equal(last, started);
    assert.ok(isAlive(last ?? 0));
    await session.run('kill $!; wait $! 2>/dev/null');
    await until('it is gone', () => !isAlive(last ?? 0));
  });

  it('keeps functions, aliases, options, mask, parameters and the directory stack', async () => {
    const { session } = suite;
    await session.run(
      "f() { echo \"f $1\"; }; alias hi='echo hi'; set -o noglob; umask 027; set -- a 'b c'; pushd / >/dev/null",
    );
    await session.expect('f 1; hi; echo *; umask; echo "$2"; popd >/dev/null; cd - >/dev/null; pwd', {
      stdout: `f 1\nhi\n*\n${suite.shell === 'bash' ? '0027' : '027'}\nb c\n/\n`,
      cwd: '/',
    });
  });

  it('makes what declare declares global', async () => {
    const { session, shell } = suite;
    await session.run(
      'declare d=1; typeset t=2; declare -x e=3; readonly r=4; integer i=5 2>/dev/null || declare -i i=5',
    );
    await session.expect('echo $d $t $e $r $i; sh -c \'echo "$e"\'', { stdout: '1 2 3 4 5\n3\n' });
    const { outcome, exitCode } = await session.run('r=5; echo no');
    assert.notEqual(exitCode, 0, shell);
    assert.equal(outcome, 'exited');
    await session.expect('echo $r', { stdout: '4\n' });
  });

  it('keeps arrays and associative arrays', async () => {
    const { session } = suite;
    await session.run('list=(one "two words" $\'three\\nlines\'); declare -A map; map[key]=value; map[k2]="a b"');
    const show = `printf "[%s]" "\${list[@]}" "\${#list[@]}" "\${map[key]}" "\${map[k2]}"`;
    const expected = '[one][two words][three\nlines][3][value][a b]';
    await session.expect(show, { stdout: expected });
    await session.run('exit 0');
    await session.expect(show, { stdout: expected });
  });

  for (const [name, value] of [
    ['newlines', 'a\nb\n\n'],
    ['quotes', `it's "quoted" \`so\``],
    ['substitutions', `$(touch hacked) \${x} $HOME \\n !!`],
    ['control characters', '\x01\x02\x1b[0m\x7f\t'],
    ['100 KB', 'x'.repeat(100 * 1024)],
    ['nothing', ''],
  ] as const) {
    it(`keeps a value with ${name} across commands and recovery`, async () => {
      const { session } = suite;
      await session.run('mine=$given; export exported=$given', { env: { given: value } });
      const show = 'printf %s "$mine"; printf %s "$exported" >&2';
      await session.expect(show, { stdout: value, stderr: value });
      await session.run('exit 0');
      await session.expect(show, { stdout: value, stderr: value });
      assert.ok(!existsSync(join(session.cwd, 'hacked')));
    });
  }
});
