import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fails, forEachShell, until } from '../helpers/engine';
import { fixture } from '../helpers/fixtures';

/** One that the system gives to nobody who does not ask for it: it is not taken in between. */
async function unassignedPort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

const portOf = (text: string | undefined) => Number(/port (\d+)/.exec(text ?? '')?.[1]);

forEachShell('Waiting', (suite) => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
    it(`sees a port open on ${host}`, async () => {
      const server = await suite.session.start(fixture('listens.js', host), { background: true });
      await server.wait([{ output: 'port \\d+\n' }]);
      const answer = await server.wait([{ port: portOf(await server.stdout()) }]);
      assert.deepEqual([answer.met, answer.state], ['port', 'running']);
      await server.cancel();
    });
  }

  it('waits for a port that opens later', async () => {
    const { session } = suite;
    const port = await unassignedPort();
    const serve = `require('net').createServer().listen(${port}, '127.0.0.1')`;
    const server = await session.start(`until [ -e go ]; do sleep 0.01; done; '${process.execPath}' -e "${serve}"`, {
      background: true,
    });
    assert.equal((await server.wait([{ port }], 100)).met, 'timeout');
    const waiting = server.wait([{ port }]);
    await writeFile(join(session.cwd, 'go'), '');
    assert.equal((await waiting).met, 'port');
    await server.cancel();
  });

  it('does not see a port that was closed again', async () => {
    const { session } = suite;
    const port = await unassignedPort();
    const server = await session.start(fixture('listens.js', '127.0.0.1', join(session.cwd, 'stop'), `${port}`), {
      background: true,
    });
    assert.equal((await server.wait([{ port }])).met, 'port');
    await writeFile(join(session.cwd, 'stop'), '');
    await server.wait([{ output: 'closed' }]);
    const answer = await server.wait([{ port }], 300);
    assert.deepEqual([answer.met, answer.state], ['timeout', 'running']);
    await server.cancel();
  });

  it('finds a pattern that arrives in pieces', async () => {
    const command = await suite.session.start(
      'printf "server re"; read -r x; printf "ady on"; read -r x; printf " 80\\n"; sleep 300',
      { background: true, keepStdinOpen: true },
    );
    const waiting = command.wait([{ output: 'server ready on \\d+' }]);
    for (const shown of ['server re', 'server ready on']) {
      await until(`${shown} is read`, async () => (await command.stdout()) === shown);
      await command.input('\n');
    }
    const answer = await waiting;
    assert.deepEqual([answer.met, answer.state], ['output', 'running']);
    const { chunks } = await command.output();
    assert.deepEqual(
      chunks.map(({ data }) => data),
      ['server re', 'ady on', ' 80\n'],
    );
    await command.cancel();
  });

  it('finds a pattern on stderr', async () => {
    const command = await suite.session.start('echo no; echo ready >&2; sleep 300', { background: true });
    assert.equal((await command.wait([{ output: 'ready' }])).met, 'output');
    await command.cancel();
  });

  it('finds a pattern that was printed before the wait, under much that came later', async () => {
    const command = await suite.session.start('echo listening; seq 1 300000; echo end; sleep 300', {
      background: true,
    });
    await command.wait([{ output: '^end' }, { output: '\nend' }]);
    const answer = await command.wait([{ output: 'listening' }], 5000);
    assert.deepEqual([answer.met, answer.state], ['output', 'running']);
    await command.cancel();
  });

  it('finds a pattern with characters beyond ASCII split over chunks', async () => {
    const command = await suite.session.start("printf '\\342\\202'; read -r x; printf '\\254 ok'; sleep 300", {
      background: true,
      keepStdinOpen: true,
    });
    const waiting = command.wait([{ output: '€ ok' }]);
    // A part of a character is counted and shown to nobody.
    await until('it is read', async () => (await command.wait(undefined, 1)).stdoutBytes === 2);
    assert.deepEqual((await command.output()).chunks, []);
    await command.input('\n');
    assert.equal((await waiting).met, 'output');
    await command.cancel();
  });

  for (const condition of [{ output: 'never' }, { port: 1 }, { silenceMs: 60_000 }, { file: '/nonexistent/file' }]) {
    it(`ends at once when the process dies before ${JSON.stringify(condition)}`, async () => {
      const command = await suite.session.start('sleep 0.1; exit 3', { background: true });
      const { met, outcome, exitCode } = await command.wait([condition], 15_000);
      assert.deepEqual([met, outcome, exitCode], ['exit', 'exited', 3]);
    });
  }

  it('answers at once about a command that has finished', async () => {
    const { commandId } = await suite.session.run('echo a; return 4');
    const { met, state, exitCode, stdout } = await suite.opened.engine.wait({ commandId });
    assert.deepEqual([met, state, exitCode, stdout], ['exit', 'finished', 4, 'a\n']);
  });

  it('waits for silence, however much was printed before', async () => {
    const print = 'i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo $i; sleep 0.05; done';
    const command = await suite.session.start(`${print}; sleep 300`, { background: true });
    await command.wait([{ output: '1' }]);
    const { met, stdoutBytes } = await command.wait([{ silenceMs: 400 }]);
    const answeredAt = Date.now();
    assert.equal(met, 'silence_ms');
    // On a busy machine it may have been silent for so long already between two lines.
    const last = (await command.output({ maxBytes: stdoutBytes })).chunks.at(-1);
    assert.ok(last !== undefined && answeredAt - last.time >= 390, `${answeredAt - (last?.time ?? 0)} ms of silence`);
    await command.cancel();
  });

  it('waits for a file', async () => {
    const { session } = suite;
    const file = join(session.cwd, 'made');
    const command = await session.start('until [ -e go ]; do sleep 0.01; done; touch made; sleep 300', {
      background: true,
    });
    assert.equal((await command.wait([{ file }], 100)).met, 'timeout');
    const waiting = command.wait([{ file }]);
    await writeFile(join(session.cwd, 'go'), '');
    assert.equal((await waiting).met, 'file');
    assert.equal((await command.wait([{ file }])).met, 'file', 'also when it is there already');
    await command.cancel();
  });

  it('sees that a command waits for input', async () => {
    const command = await suite.session.start('sleep 0.1; read -r line; echo "got $line"', { keepStdinOpen: true });
    assert.equal((await command.wait([{ input: true }])).met, 'input');
    await command.input('x\n');
    assert.equal((await command.wait()).stdout, 'got x\n');
  });

  it('does not take sleep for waiting for input', async () => {
    const command = await suite.session.start('echo ready; sleep 300', { keepStdinOpen: true });
    await command.wait([{ output: 'ready' }]);
    assert.equal((await command.wait([{ input: true }], 400)).met, 'timeout');
    await command.cancel();
  });

  it('says which of several conditions was met', async () => {
    const command = await suite.session.start('echo ready; sleep 300', { background: true });
    const answer = await command.wait([{ output: 'never' }, { file: '/nonexistent/file' }, { output: 'ready' }]);
    assert.equal(answer.met, 'output');
    await command.cancel();
  });

  it('answers every waiter', async () => {
    const command = await suite.session.start('sleep 0.1; echo ready; sleep 0.1; echo end', { background: true });
    const answers = await Promise.all([
      command.wait([{ output: 'ready' }]),
      command.wait([{ output: 'ready' }]),
      command.wait([{ output: 'end' }]),
      command.wait(),
    ]);
    assert.deepEqual(
      answers.map(({ met }) => met),
      ['output', 'output', 'output', 'exit'],
    );
    assert.equal(answers[3].stdout, 'ready\nend\n');
  });

  it('goes on when a waiter goes away', async () => {
    const { session, opened } = suite;
    const command = await session.start('until [ -e go ]; do sleep 0.01; done; echo end', { background: true });
    const gone = new AbortController();
    const left = opened.engine.wait({ commandId: command.id }, gone.signal).catch(() => undefined);
    const stays = command.wait();
    gone.abort();
    await left;
    await writeFile(join(session.cwd, 'go'), '');
    const { met, outcome, stdout } = await stays;
    assert.deepEqual([met, outcome, stdout], ['exit', 'exited', 'end\n']);
  });

  it('answers with the state so far when its own time is over, and leaves the command alone', async () => {
    const command = await suite.session.start('echo begun; sleep 300', { background: true });
    await command.wait([{ output: 'begun\n' }]);
    const answer = await command.wait(undefined, 100);
    assert.deepEqual([answer.met, answer.state, answer.stdoutBytes], ['timeout', 'running', 6]);
    await command.cancel();
  });

  it('waits for a command that is still queued', async () => {
    const { session } = suite;
    const first = await session.start('until [ -e go ]; do sleep 0.01; done');
    const second = await session.start('echo second');
    const waiting = second.wait();
    await writeFile(join(session.cwd, 'go'), '');
    assert.equal((await waiting).stdout, 'second\n');
    await first.wait();
  });

  it('refuses a pattern that is not a regular expression', async () => {
    const command = await suite.session.start('sleep 300', { background: true });
    await fails(() => command.wait([{ output: '(' }]), 'invalid_params');
    await command.cancel();
  });

  it('knows no command it never started', async () => {
    await fails(() => suite.opened.engine.wait({ commandId: `${suite.session.id}:none` }), 'command_not_found');
  });
});
