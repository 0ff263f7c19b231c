import assert from 'node:assert/strict';
import { ToolSandbox } from '../helpers/toolbox';

let tools: ToolSandbox;
beforeEach(() => {
  tools = new ToolSandbox();
});
afterEach(() => tools.dispose());

describe('limpet_wait_for_command', () => {
  it('waits for the end, a condition, or until the time is over', async () => {
    await tools.run('until [ -e go ]; do sleep 0.02; done; echo gone; exit 4', { background: true });
    const commandId = await tools.commandId(1);
    assert.equal(
      await tools.call('limpet_wait_for_command', { commandId, until: { output: 'gone' }, timeoutMs: 50 }),
      `Still running in the background after TIME. The condition does not hold yet.
Session WORKSPACE, in WORK. Command S:1.

It has printed nothing on stdout and stderr yet.

It goes on: limpet_wait_for_command {"commandId":"S:1"} waits for its end, limpet_stop_command {"commandId":"S:1"} stops it.`,
    );
    await tools.run('touch go');
    assert.equal(
      await tools.call('limpet_wait_for_command', { commandId }),
      `Exit code 4 after TIME.
Session WORKSPACE, in WORK. Command S:1.

stdout:
gone

stderr: empty`,
    );
  });
});

describe('limpet_read_output', () => {
  it('reads both streams in order, one stream, the last lines, or matching ones', async () => {
    await tools.run('echo a; sleep 0.05; echo b >&2; sleep 0.05; echo c');
    const commandId = await tools.commandId(1);
    const read = (input: object) => tools.call('limpet_read_output', { commandId, ...input });
    const end = 'The command has finished; this is the end of its output.';
    assert.equal(await read({}), `stdout:\na\n\nstderr:\nb\n\nstdout:\nc\n\n${end}`);
    assert.equal(await read({ stream: 'stdout' }), `stdout:\na\nc\n\n${end}`);
    assert.equal(await read({ tailLines: 2 }), `stderr:\nb\n\nstdout:\nc\n\n${end}`);
    assert.equal(await read({ grep: '^[bc]' }), `stderr:\nb\n\nstdout:\nc\n\n${end}`);
    assert.equal(await read({ grep: 'nothing' }), `No line matches.\n\n${end}`);
    assert.equal(await read({ cursor: '3' }), `stdout:\nc\n\n${end}`);
    assert.equal(await read({ cursor: '4' }), `There is nothing more.\n\n${end}`);
  });

  it('gives the cursor to read on from while the command runs', async () => {
    await tools.run('echo begun; sleep 100', { background: true, waitFor: { output: 'begun' } });
    const commandId = await tools.commandId(1);
    assert.equal(
      await tools.call('limpet_read_output', { commandId }),
      `stdout:
begun

The command is still running. Later output: limpet_read_output {"commandId":"S:1","cursor":"2"}`,
    );
  });

  it('refuses what is no cursor, no pattern or no command', async () => {
    await tools.run('true');
    const commandId = await tools.commandId(1);
    assert.equal(
      await tools.call('limpet_read_output', { commandId, cursor: 'x' }),
      'Error (invalid_params): cursor: is not a cursor: take it from an earlier result as it stands. Correct the input and call again.',
    );
    assert.match(
      await tools.call('limpet_read_output', { commandId, grep: '(' }),
      /^Error \(invalid_params\): grep is not a regular/,
    );
    assert.equal(
      await tools.call('limpet_read_output', { commandId: 'x' }),
      'Error (command_not_found): There is no command "x". limpet_list_sessions shows the ones that are known.',
    );
  });
});

describe('limpet_send_input', () => {
  it('types into a command and returns what it prints in answer', async () => {
    await tools.run('while read x; do echo "you said $x"; done; echo bye', { interactive: true });
    const commandId = await tools.commandId(1);
    assert.equal(
      await tools.call('limpet_send_input', { commandId, text: 'hello\n' }),
      `Still running after TIME. It waits for input.
Session WORKSPACE, in WORK. Command S:1.

Since then it printed:

stdout:
you said hello

limpet_send_input {"commandId":"S:1","text":"…\\n"} answers it, limpet_stop_command {"commandId":"S:1"} stops it.`,
    );
    assert.equal(
      await tools.call('limpet_send_input', { commandId, eof: true }),
      `Exit code 0 after TIME.
Session WORKSPACE, in WORK. Command S:1.

Since then it printed:

stdout:
bye`,
    );
    assert.equal(
      await tools.call('limpet_send_input', { commandId, text: 'more' }),
      'Error (command_finished): Command S:1 has already finished, so it can take neither input nor signals. limpet_wait_for_command gives its result, limpet_read_output its output.',
    );
  });

  it('says how to start a command that takes input', async () => {
    await tools.run('sleep 100', { background: true });
    assert.equal(
      await tools.call('limpet_send_input', { commandId: await tools.commandId(1), text: 'x' }),
      'Error (not_supported): Command S:1 was started without interactive, so it has no input to write to. Start the command anew with interactive: true if it needs input.',
    );
  });
});

describe('limpet_stop_command', () => {
  it('stops a command and returns its result', async () => {
    await tools.run('echo begun; sleep 100', { background: true, waitFor: { output: 'begun' } });
    assert.equal(
      await tools.call('limpet_stop_command', { commandId: await tools.commandId(1) }),
      `Stopped after TIME. The session lives on.
Session WORKSPACE, in WORK. Command S:1.

stdout:
begun

stderr: empty`,
    );
  });

  it('only sends a signal that does not end commands', async () => {
    await tools.run(`trap 'echo caught' USR1; echo set; while :; do sleep 0.05; done`, {
      background: true,
      waitFor: { output: 'set' },
    });
    const commandId = await tools.commandId(1);
    assert.equal(
      await tools.call('limpet_stop_command', { commandId, signal: 'SIGCONT' }),
      'SIGCONT was sent. Command S:1 goes on.',
    );
  });
});

describe('the session tools', () => {
  it('list sessions with what they run and ran', async () => {
    assert.equal(
      await tools.call('limpet_list_sessions'),
      'There are no sessions. limpet_run_command makes the session of this workspace, WORKSPACE.',
    );
    await tools.run('false');
    await tools.run('sleep 100', { background: true });
    await tools.run('sleep  200', { yieldMs: 2000 });
    await tools.run('echo waits', { yieldMs: 1 });
    await tools.call('limpet_create_session', { name: 'empty', cwd: '/' });
    assert.equal(
      await tools.call('limpet_list_sessions'),
      `2 sessions.

Session WORKSPACE (S), the session of this workspace: running, bash, in WORK
  S:1  foreground, by an agent: Exit code 1 after TIME.  false
  S:2  running in the background for TIME, by an agent:  sleep 100
  S:3  running in the foreground for TIME, by an agent:  sleep 200
  S:4  queued by an agent  echo waits

Session empty (S): idle, bash, in /
  It has run nothing yet.`,
    );
  });

  it('create and destroy sessions', async () => {
    assert.equal(
      await tools.call('limpet_create_session', { name: 'mine', cwd: '/usr', env: { A: 'b' } }),
      'Session mine is ready: bash, in /usr.',
    );
    assert.match(await tools.run('echo $A', { session: 'mine' }), /stdout:\nb\n/);
    assert.equal(
      await tools.call('limpet_create_session', { name: 'mine' }),
      'Error (invalid_params): There is already a session "mine". Use it, or choose another name.',
    );
    assert.equal(
      await tools.call('limpet_destroy_session', { session: 'mine' }),
      'Session mine is gone, with everything it ran.',
    );
    assert.equal(
      await tools.call('limpet_destroy_session', { session: 'mine' }),
      'Error (session_not_found): There is no session "mine". limpet_list_sessions shows the ones there are.',
    );
    assert.match(
      await tools.call('limpet_create_session', { shell: 'nosuch' }),
      /^Error \(shell_not_found\): No shell "nosuch" was found\. Available here: /,
    );
    assert.equal(
      await tools.call('limpet_create_session', { shell: 'sh' }),
      'Error (not_supported): sh cannot be the shell of a session. Use one of: bash, zsh.',
    );
  });
});
