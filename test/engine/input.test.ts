import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { LimpetError } from '../../protocol/errors';
import { fails, forEachShell } from '../helpers/engine';

const timeoutMs = 10_000;

forEachShell('Input', (suite) => {
  for (const [command, expected] of [
    ['cat', {}],
    ['read x', { exitCode: 1 }],
    ['sort', {}],
    ['wc -c', { stdout: '0\n' }],
    ['python3', {}],
    ['sh', {}],
    ['while read -r line; do echo "$line"; done', {}],
    ['cat | cat', {}],
    ['echo "$(cat)"', { stdout: '\n' }],
  ] as const) {
    it(`ends ${JSON.stringify(command)} at once when there is no input`, async () => {
      await suite.session.expect(command, expected, { timeoutMs });
    });
  }

  for (const [name, stdin] of [
    ['text', 'hello'],
    ['nothing', ''],
    ['lines', 'one\ntwo\n'],
    ['quotes and dollars', '\'"`$(x)\\'],
    ['characters beyond ASCII', '→ 🐚'],
    ['a NUL', 'a\0b'],
  ] as const) {
    it(`gives ${name} to the command exactly`, async () => {
      await suite.session.expect('cat', { stdout: stdin }, { stdin });
      await suite.session.expect('cat', {});
    });
  }

  it('takes bytes that are no text in base64, and refuses what is not base64', async () => {
    const { session, opened } = suite;
    const { engine } = opened;
    const { id: commandId } = await session.start('od -An -tx1', { keepStdinOpen: true });
    await fails(() => engine.input({ commandId, data: 'a-b=', encoding: 'base64' }), 'invalid_params');
    await engine.input({
      commandId,
      data: Buffer.from([0xff, 0x00]).toString('base64'),
      encoding: 'base64',
      eof: true,
    });
    const { stdout } = await engine.wait({ commandId });
    assert.equal(stdout, ' ff 00\n');
  });

  it('lets the shell itself read the input', async () => {
    await suite.session.expect('read a; read b; echo "$b-$a"', { stdout: 'y-x\n' }, { stdin: 'x\ny\n' });
    await suite.session.expect('echo "$a"', { stdout: 'x\n' });
  });

  it('never runs input that was not read', async () => {
    await suite.session.expect('head -n 1 >/dev/null', {}, { stdin: 'one\necho two\nexit 9\n' });
    await suite.session.expect('true', {}, { stdin: 'echo three\n'.repeat(100_000) });
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('passes 50 MB through and back', async () => {
    const stdin = 'limpet holds on\n'.repeat((50 * 1024 * 1024) / 16);
    const sum = createHash('sha256').update(stdin).digest('hex');
    await suite.session.expect('sha256sum', { stdout: `${sum}  -\n` }, { stdin });
    const { stdout } = await suite.session.run('cat', { stdin, maxOutputBytes: 64 * 1024 * 1024 });
    assert.ok(stdout === stdin, 'the same comes back');
  });

  for (const background of [false, true]) {
    const where = background ? 'in the background' : 'in the foreground';

    it(`talks with a command that waits for input ${where}`, async () => {
      const cat = await suite.session.start('while read -r line; do echo "got $line"; done; echo end', {
        keepStdinOpen: true,
        background,
      });
      await cat.input('one\n');
      assert.equal((await cat.wait([{ output: 'got one' }])).met, 'output');
      await cat.input('tw');
      await cat.input('o\n');
      assert.equal((await cat.wait([{ output: 'got two' }])).met, 'output');
      await cat.end();
      const { met, outcome, exitCode, stdout } = await cat.wait();
      assert.deepEqual([met, outcome, exitCode, stdout], ['exit', 'exited', 0, 'got one\ngot two\nend\n']);
      await suite.session.expect('echo next', { stdout: 'next\n' });
    });

    it(`passes much input on to a command ${where}, however slowly it reads`, async () => {
      const piece = 'x'.repeat(512 * 1024);
      const count = await suite.session.start('sleep 0.2; wc -c', { keepStdinOpen: true, background });
      await Promise.all(Array.from({ length: 10 }, () => count.input(piece)));
      await count.end();
      assert.equal((await count.wait()).stdout?.trim(), String(10 * piece.length));
    });

    it(`ends a command that waits for input ${where} by cancelling it`, async () => {
      const cat = await suite.session.start('echo ready; cat', { keepStdinOpen: true, background });
      await cat.wait([{ output: 'ready' }]);
      assert.equal((await cat.cancel()).outcome, 'cancelled');
      await suite.session.expect('cat', {}, { timeoutMs });
    });
  }

  it('writes and ends in one call', async () => {
    const cat = await suite.session.start('cat', { keepStdinOpen: true });
    await suite.opened.engine.input({ commandId: cat.id, data: 'all', eof: true });
    assert.equal((await cat.wait()).stdout, 'all');
  });

  it('keeps what comes before the command’s turn: some at once, more when there is room', async () => {
    const { session } = suite;
    const before = await session.start('echo on; sleep 300');
    await before.wait([{ output: 'on' }]);
    const cat = await session.start('cat', { keepStdinOpen: true });
    const pieces = ['a', 'b', 'c'].map((letter) => letter.repeat(40_000));
    const [first, ...rest] = pieces.map((piece) => cat.input(piece));
    await first;
    assert.equal(await Promise.race([...rest, immediate('it waits')]), 'it waits');
    await before.cancel();
    await Promise.all(rest);
    await cat.end();
    assert.equal((await cat.wait()).stdout, pieces.join(''));
  });

  it('says that input will not be read any more when a command is cancelled before its turn', async () => {
    const { session } = suite;
    const before = await session.start('echo on; sleep 300');
    await before.wait([{ output: 'on' }]);
    const cat = await session.start('cat', { keepStdinOpen: true });
    const waiting = fails(() => cat.input('a'.repeat(100_000)), 'command_finished');
    await cat.cancel();
    await waiting;
    await before.cancel();
  });

  it('gives no command what another has left unread, or still reads', async () => {
    const { session } = suite;
    const go = join(session.cwd, 'go');
    const leaver = await session.start(
      `setsid -f sleep 300 >/dev/null 2>&1; echo on; while [ ! -e ${go} ]; do sleep 0.01; done`,
      { keepStdinOpen: true },
    );
    await leaver.wait([{ output: 'on' }]);
    await leaver.input('not for others\n');
    const queued = await session.start('cat', { keepStdinOpen: true });
    await writeFile(go, '');
    await queued.input('for this one\n');
    await queued.end();
    assert.equal((await queued.wait()).stdout, 'for this one\n');
  });

  it('goes on when the command ends without reading its input', async () => {
    const command = await suite.session.start('exec 0<&-; true', { keepStdinOpen: true });
    await command.wait();
    await suite.session.expect('echo next', { stdout: 'next\n' });
  });

  it('refuses input for a command that has finished, or never was', async () => {
    const command = await suite.session.start('true', { keepStdinOpen: true });
    await command.wait();
    await fails(() => command.input('late'), 'command_finished');
    await fails(() => command.end(), 'command_finished');
    await fails(
      () => suite.opened.engine.input({ commandId: `${suite.session.id}:none`, data: 'x' }),
      'command_not_found',
    );
  });

  it('refuses input for a command whose input was not kept open', async () => {
    const command = await suite.session.start('echo ready; sleep 60');
    await command.wait([{ output: 'ready' }]);
    await assert.rejects(() => command.input('x'), LimpetError);
    await command.cancel();
  });

  it('never mixes the input of sessions', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => suite.opened.session(suite.shell)));
    const results = await Promise.all(sessions.map((session, index) => session.run('cat', { stdin: `mine ${index}` })));
    assert.deepEqual(
      results.map(({ stdout }) => stdout),
      sessions.map((_, index) => `mine ${index}`),
    );
  });
});
