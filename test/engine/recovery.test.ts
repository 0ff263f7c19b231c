import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangeEvent } from '../../protocol/values';
import { forEachShell, until } from '../helpers/engine';
import { isAlive, statusOf } from '../helpers/processes';

/** Sets one of everything a session holds. */
const furnish = [
  'plain=1',
  "nasty=$'a\\nb \\'c\\' \"d\" $(touch hacked)'",
  'export exported=2',
  "list=(one 'two words')",
  'declare -A map; map[key]=value',
  'declare -i number=7',
  'f() { echo "f $1 $plain"; }',
  'f_nested() { inner() { cat <<END\nheredoc $1\nEND\n}; inner "$@"; }',
  "alias hi='echo hi there'",
  'set -o noglob',
  'umask 027',
  "set -- a 'b c'",
  'mkdir -p sub; cd sub',
  'readonly fixed=3',
].join('\n');

const show = [
  'printf "[%s]" "$plain" "$nasty" "$fixed" "$number"',
  'sh -c \'printf "[%s]" "$exported" "$plain"\'',
  `printf "[%s]" "\${list[@]}" "\${map[key]}" "$2" "$(umask)"`,
  '[[ -o noglob ]] && echo noglob',
  'f x; f_nested y; hi; pwd',
].join('\n');

forEachShell('Recovery', (suite) => {
  it('restores nothing of a subshell that ended by itself', async () => {
    const { session } = suite;
    await session.run('x=kept');
    await session.run('(x=lost; exit 3)');
    await session.run('kill -9 $$');
    await session.expect('echo $x', { stdout: 'kept\n' });
  });

  const shown = () => {
    const mask = suite.shell === 'bash' ? '0027' : '027';
    return [
      `[1][a\nb 'c' "d" $(touch hacked)][3][7][2][][one][two words][value][b c][${mask}]noglob\n`,
      `f x 1\nheredoc y\nhi there\n${suite.session.cwd}/sub\n`,
    ].join('');
  };

  for (const [name, command, exitCode] of [
    ['exit', 'exit 3', 3],
    ['exit without a code', "sh -c 'exit 4'; exit", 4],
    ['exit in a function', 'g() { exit 5; }; g', 5],
    ['set -e', "set -e; sh -c 'exit 6'; set +e", 6],
  ] as const) {
    it(`restores everything after ${name}`, async () => {
      const { session } = suite;
      const cwd = `${session.cwd}/sub`;
      await session.expect(furnish, { cwd });
      await session.expect(show, { stdout: shown(), cwd });
      await session.expect(command, { outcome: 'shell_exited', exitCode, cwd, notes: 'some' });
      const { stdout, stderr } = await session.run(show);
      assert.deepEqual([stdout, stderr], [shown(), '']);
      await session.expect('f z', { stdout: 'f z 1\n', cwd });
    });
  }

  for (const [name, command] of [
    ['set', "set -- a 'b c'"],
    ['shift', "set -- x a 'b c'\nshift"],
    ['eval', `eval "set -- a 'b c'"`],
    ['a file', `echo "set -- a 'b c'" > args; . ./args`],
  ] as const) {
    it(`restores positional parameters that ${name} has changed just before a function exits`, async () => {
      const { session } = suite;
      await session.run('leave() { exit 5; }');
      await session.run(command);
      await session.expect('leave now', { outcome: 'shell_exited', exitCode: 5, notes: 'some' });
      await session.expect('echo "$#: $2"', { stdout: '2: b c\n' });
    });
  }

  // Nothing of the shell can run any more in these; the snapshot taken while the session was idle serves.
  for (const [name, command] of [
    ['kill -9', 'kill -9 $$'],
    ['exec', 'exec true'],
  ] as const) {
    it(`restores everything after ${name} once the session has been idle for a moment`, async () => {
      const { session } = suite;
      await session.run(furnish);
      const snapshot = join(suite.opened.runtimeDir, 'sessions', session.id, 'snapshot');
      await until('its state is saved', () => existsSync(snapshot) && readFileSync(snapshot, 'utf8').includes('fixed'));
      assert.equal((await session.run(command)).outcome, 'shell_exited');
      const { stdout, stderr } = await session.run(show);
      assert.deepEqual([stdout, stderr], [shown(), '']);
    });
  }

  it('tells of the restart in the result, the session and the events', async () => {
    const { session, opened } = suite;
    const events: ChangeEvent[] = [];
    const listening = opened.engine.onChange((event) => events.push(event));
    const { notes } = await session.run('x=1; exit 3');
    listening.dispose();
    assert.match(notes.join(' '), /restor/i);
    assert.equal(session.info().restarts, 1);
    assert.ok(events.some((event) => event.event === 'session' && event.session.restarts === 1));
    assert.ok(!isAlive(session.created.pid ?? 0));
    assert.ok(isAlive(session.info().pid ?? 0));
    await session.expect('true');
  });

  it('never runs a command twice', async () => {
    const { session } = suite;
    const ends = ['exit 3', 'kill -9 $$', 'exec true', 'set -e; false', 'kill -HUP $$'];
    for (const [index, end] of ends.entries()) await session.run(`set +e; echo ${index} >> ${session.cwd}/ran; ${end}`);
    await session.run('true');
    assert.equal(await readFile(join(session.cwd, 'ran'), 'utf8'), '0\n1\n2\n3\n4\n');
  });

  it('runs what was queued behind the command that ended the shell, in order', async () => {
    const { session } = suite;
    const results = await Promise.all([
      session.run('x=kept; exit 3'),
      session.run('echo "one $x"'),
      session.run('kill -9 $$'),
      session.run('echo two'),
      session.run('echo three'),
    ]);
    assert.deepEqual(
      results.map(({ outcome, stdout }) => [outcome, stdout]),
      [
        ['shell_exited', ''],
        ['exited', 'one kept\n'],
        ['shell_exited', ''],
        ['exited', 'two\n'],
        ['exited', 'three\n'],
      ],
    );
  });

  it('does not take the exit of a subshell for that of the shell', async () => {
    await suite.session.expect('(exit 3)', { exitCode: 3 });
    await suite.session.expect('echo a | (exit 4)', { exitCode: 4 });
    await suite.session.expect('x=$(exit 5)', { exitCode: 5 });
    assert.equal(suite.session.info().restarts, 0);
  });

  it('reports the crash of the shell with its signal', async () => {
    await suite.session.run('ulimit -c 0');
    for (const [number, signal] of [
      [11, 'SEGV'],
      [6, 'ABRT'],
    ] as const) {
      const { outcome, exitCode, signal: reported } = await suite.session.run(`kill -${number} $$`);
      assert.deepEqual([outcome, exitCode, reported], ['shell_exited', null, `SIG${signal}`]);
    }
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('saves the state also if a command in the background was just being given to the shell when that was due', async () => {
    const { session, opened } = suite;
    const snapshot = join(opened.runtimeDir, 'sessions', session.id, 'snapshot');
    const isSaved = (value: string) => existsSync(snapshot) && readFileSync(snapshot, 'utf8').includes(value);
    await session.run('x=before');
    await until('the state before is saved', () => isSaved('before'));
    const pid = session.info().pid ?? 0;
    const { commandId } = await session.run('x=after');
    const ended = performance.now();
    process.kill(pid, 'SIGSTOP');
    while (statusOf(pid)?.state !== 'T');
    const starting = session.start('sleep 300', { background: true });
    await until('the time is over in which it is due', () => performance.now() - ended > 200);
    assert.ok(!isSaved('after'), `${commandId} ended and was not saved`);
    process.kill(pid, 'SIGCONT');
    await starting;
    await until('it is saved', () => isSaved('after'));
  });

  it('notices when the shell ends while idle, and the next command finds a fresh one', async () => {
    const { session } = suite;
    await session.run('cd /');
    const pid = session.info().pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until('it is gone', () => !isAlive(pid));
    const { outcome, exitCode, stdout, cwd } = await session.run('echo fresh; pwd');
    assert.deepEqual([outcome, exitCode, stdout, cwd], ['exited', 0, 'fresh\n/\n', '/']);
    assert.equal(session.info().restarts, 1);
  });

  it('survives a shell that times out while idle', async () => {
    const { session } = suite;
    await session.run('TMOUT=1; x=kept');
    const pid = session.info().pid ?? 0;
    const patience = Date.now() + 2500;
    await until('the shell is gone or will stay', () => !isAlive(pid) || Date.now() > patience);
    const { exitCode, stdout } = await session.run('echo "still here, $x"');
    assert.deepEqual([exitCode, stdout], [0, 'still here, kept\n']);
  });

  it('falls back with a note when its directory is gone, and says where it really is', async () => {
    const { session } = suite;
    const cwd = session.cwd;
    await session.run('x=kept; mkdir -p d/e; cd d; cd e; rm -rf ../../d');
    const { notes } = await session.expect('exit 4', { outcome: 'shell_exited', exitCode: 4, notes: 'some' });
    assert.match(notes.join(' '), /Restored: variables.*The directory it was in is gone/);
    await session.expect('echo "$x $PWD $OLDPWD"; readlink /proc/$$/cwd', {
      stdout: `kept ${cwd} ${cwd}/d\n${cwd}\n`,
    });
  });

  it('restores the directory before, too', async () => {
    const { session } = suite;
    await session.run('mkdir one two; cd one; cd ../two');
    await session.run('exit 4');
    await session.expect('cd - >/dev/null; pwd', { stdout: `${session.cwd}/one\n`, cwd: `${session.cwd}/one` });
  });

  it('goes where the session was, not where the command was that ended the shell', async () => {
    const { session } = suite;
    const cwd = `${session.cwd}/own`;
    await session.run('mkdir own; cd own');
    await session.expect('exit 4', { outcome: 'shell_exited', exitCode: 4, notes: 'some', cwd }, { cwd: '/usr' });
    await session.expect('pwd', { stdout: `${cwd}\n`, cwd });
    await session.run('rmdir ../own');
    await session.expect('exit 4', { outcome: 'shell_exited', exitCode: 4, notes: 'some' }, { cwd: '/usr' });
    await session.expect('pwd', { stdout: `${session.cwd}\n` });
  });

  it('restores large arrays exactly', async () => {
    const { session } = suite;
    const [odd, sum] = [
      `a[5]= a[6]=$'x\\ny' a[7]="it's" a[8]='[1]=2' a[9]='%s \\n'`,
      `printf "[%s]" "\${a[@]}" | cksum`,
    ];
    await session.run(`a=({1..60000}); ${odd}; typeset -r a`);
    await session.run(
      'typeset -A m; for i in {1..3000}; do m[k$i]="v $i"; done; k="it\'s"; m[$k]=$\'two\\nlines\'; m[none]=',
    );
    const before = await session.text(sum);
    await session.expect('exit 4', { outcome: 'shell_exited', exitCode: 4, notes: 'some' });
    assert.equal(await session.text(sum), before);
    const shown = `printf "[%s]" "\${#m[@]}" "\${m[k3000]}" "\${m[$k]}" "\${m[none]}"`;
    assert.equal(await session.text(shown), '[3002][v 3000][two\nlines][]');
    assert.match(session.info().notes.join(' '), /Restored: directory, variables, functions/);
    assert.notEqual((await session.run('a=()')).exitCode, 0);
  });

  it('ends again and again without losing the state', async () => {
    const { session } = suite;
    await session.run('x=0; f() { echo "f $x"; }');
    for (let time = 1; time <= 8; time++) {
      assert.equal((await session.run(`x=$((x+1)); exit ${time}`)).exitCode, time);
      await session.expect('f', { stdout: `f ${time}\n` });
    }
    assert.equal(session.info().restarts, 8);
  });

  it('does not end in a loop when set -e was on', async () => {
    const { session } = suite;
    await session.run('x=kept; set -e');
    assert.equal((await session.run('false')).outcome, 'shell_exited');
    await session.expect('echo "$x"', { stdout: 'kept\n' });
    assert.equal((await session.run('false')).outcome, 'shell_exited');
    await session.expect('set +e; false; echo "$x"', { stdout: 'kept\n' });
    assert.equal(session.info().restarts, 2);
  });

  it('restores no secret of a single command', async () => {
    const { session } = suite;
    await session.run('exit 3', { env: { ONLY_HERE: 'secret' } });
    await session.expect(`echo "\${ONLY_HERE-unset}"`, { stdout: 'unset\n' });
    await session.run('true', { env: { ONLY_HERE: 'secret' } });
    await session.run('exit 3');
    await session.expect(`echo "\${ONLY_HERE-unset}"`, { stdout: 'unset\n' });
  });

  it('goes on when state that breaks shells was left behind', async () => {
    const { session } = suite;
    await session.run("trap 'exit 9' EXIT; trap 'exit 8' ERR; set -o noclobber; IFS=x; PATH=");
    await session.run('exit 3');
    const { stdout } = await session.run('set +e; trap - ERR EXIT; echo alive');
    assert.equal(stdout, 'alive\n');
  });

  it('keeps a job that holds on to the output of the shell that ended', async () => {
    const { session } = suite;
    const result = await session.run('sleep 300 & echo $!; exit 3');
    const pid = Number(result.stdout);
    assert.deepEqual([result.outcome, result.exitCode, isAlive(pid)], ['shell_exited', 3, true]);
    await session.expect('echo next', { stdout: 'next\n' });
    await session.destroy();
    assert.ok(!isAlive(pid));
  });

  if (suite.shell === 'zsh') {
    for (const mode of ['ksh', 'sh', 'csh', 'zsh']) {
      it(`restores everything after emulate ${mode}`, async () => {
        const { session } = suite;
        await session.run(`emulate ${mode}; x=1; setopt extended_glob`);
        const isOn = async () => {
          // "set -o nothing" says the same as "set +o thing", and which of both is said depends on the mode.
          const lines = (await session.text('set +o')).split('\n');
          const other = { '-': '+', '+': '-' } as const;
          return lines.map((line) =>
            line.replace(/([-+])o no(?!tify|match)/, (_, sign: '-' | '+') => `${other[sign]}o `),
          );
        };
        const options = await isOn();
        const { notes } = await session.expect('exit 5', { outcome: 'shell_exited', exitCode: 5, notes: 'some' });
        assert.match(notes.join(' '), /Restored: directory, variables, functions/);
        await session.expect('echo $x', { stdout: '1\n' });
        assert.deepEqual(await isOn(), options);
      });
    }

    it('restores everything although builtins are disabled that it needs, without a word about them', async () => {
      for (const name of ['printf', 'print', 'typeset', 'set', 'alias']) {
        const session = await suite.opened.session('zsh');
        await session.run(`x=1; alias hi='echo hi'; disable ${name}`);
        const { notes } = await session.expect('exit 5', { outcome: 'shell_exited', exitCode: 5, notes: 'some' });
        assert.match(notes.join(' '), /Restored: directory, variables, functions/);
        await session.expect('echo $x; hi', { stdout: '1\nhi\n' });
      }
    });
  }
});
