import assert from 'node:assert/strict';
import { until } from '../helpers/sidecar';
import { ToolSandbox } from '../helpers/toolbox';

describe('limpet_run_command', () => {
  let tools: ToolSandbox;
  beforeEach(() => {
    tools = new ToolSandbox();
  });
  afterEach(() => tools.dispose());

  it('tells exit code, duration, session, directory and both streams', async () => {
    assert.equal(
      await tools.run('echo out; echo err >&2'),
      `Exit code 0 after TIME.
Session WORKSPACE, in WORK. Command S:1.

stdout:
out

stderr:
err`,
    );
  });

  it('takes a failing command for a result', async () => {
    assert.equal(
      await tools.run('cd / && false'),
      `Exit code 1 after TIME.
Session WORKSPACE, in /. Command S:1.

It printed nothing on stdout and stderr.`,
    );
  });

  it('keeps state from one command to the next, each session its own', async () => {
    await tools.run('cd /usr; x=kept; f() { echo "f $1"; }');
    assert.match(await tools.run('pwd; echo $x; f 1'), /stdout:\n\/usr\nkept\nf 1\n/);
    assert.equal(
      await tools.run('pwd; echo "[$x]"', { session: 'other' }),
      `Exit code 0 after TIME.
Session other, in WORK. Command S:1.

stdout:
WORK
[]

stderr: empty`,
    );
  });

  it('runs in a directory and with variables for this command only', async () => {
    assert.match(await tools.run('pwd; echo $A', { cwd: '/usr', env: { A: '1' } }), /stdout:\n\/usr\n1\n/);
    assert.match(await tools.run('pwd; echo "[$A]"'), /stdout:\nWORK\n\[\]\n/);
  });

  it('says that the last line has no newline', async () => {
    assert.equal(
      await tools.run('printf nonl; echo err >&2; (exit 3)'),
      `Exit code 3 after TIME.
Session WORKSPACE, in WORK. Command S:1.

stdout (no newline at the end):
nonl

stderr:
err`,
    );
  });

  it('gives a program that reads an empty input, or the one it is told', async () => {
    assert.match(await tools.run('cat'), /^Exit code 0 .*\n.*\n\nIt printed nothing on stdout and stderr\.$/);
    assert.match(await tools.run('tr a-z A-Z', { stdin: 'shout\n' }), /\nstdout:\nSHOUT\n/);
  });

  it('keeps the session when a command ends its shell', async () => {
    await tools.run('x=kept');
    assert.equal(
      await tools.run('exit 3'),
      `Exit code 3 after TIME. The command ended the shell.
Session WORKSPACE, in WORK. Command S:2.

It printed nothing on stdout and stderr.

The shell exited with 3; the session goes on in a fresh one. Restored: directory, variables, functions, aliases, options, umask and positional parameters. Not restored: traps, open descriptors and the shell's list of jobs.`,
    );
    assert.match(await tools.run('echo $x'), /stdout:\nkept\n/);
  });

  it('answers unbalanced quotes with the shell’s own error', async () => {
    assert.match(
      await tools.run('echo "'),
      /^Exit code 2 after TIME\.\n.*\n\nstdout: empty\n\nstderr:\n.*unexpected EOF while looking for matching/,
    );
  });

  it('does not wait for a process left in the background, and names it', async () => {
    assert.equal(
      await tools.run('sleep 100 & echo done'),
      `Exit code 0 after TIME.
Session WORKSPACE, in WORK. Command S:1.

stdout:
done

stderr: empty

Process PID (sleep 100) goes on and holds its output open.`,
    );
  });

  it('answers "still running" when the time to yield is over, and lets the command go on', async () => {
    assert.equal(
      await tools.run('echo begun; read x; echo "got $x"', { interactive: true, session: 'asks' }),
      `Still running after TIME. It waits for input.
Session asks, in WORK. Command S:1.

stdout so far:
begun

stderr: empty

limpet_send_input {"commandId":"S:1","text":"…\\n"} answers it, limpet_stop_command {"commandId":"S:1"} stops it.`,
    );
    assert.equal(
      await tools.run('echo begun; sleep 100', { yieldMs: 2000 }),
      `Still running after TIME.
Session WORKSPACE, in WORK. Command S:1.

stdout so far:
begun

stderr: empty

It goes on: limpet_wait_for_command {"commandId":"S:1"} waits for its end, limpet_stop_command {"commandId":"S:1"} stops it.`,
    );
    assert.equal(
      await tools.run('echo next', { yieldMs: 100 }),
      `Queued: the session is still busy with S:1 (echo begun; sleep 100).
Session WORKSPACE, in WORK. Command S:2.

It has printed nothing on stdout and stderr yet.

It runs when its turn comes: limpet_wait_for_command {"commandId":"S:2"} waits for its end, limpet_stop_command {"commandId":"S:2"} stops it. If the one before it hangs: limpet_stop_command {"commandId":"S:1"}. Another session runs commands at once.`,
    );
  });

  it('stops a command at its own timeout and keeps the session', async () => {
    assert.equal(
      await tools.run('x=kept; echo begun; sleep 100', { timeoutMs: 2000 }),
      `Timed out after TIME and was stopped. The session lives on.
Session WORKSPACE, in WORK. Command S:1.

stdout:
begun

stderr: empty`,
    );
    assert.match(await tools.run('echo $x'), /stdout:\nkept\n/);
  });

  it('starts a background command, waits for what it prints, and leaves the session free', async () => {
    assert.equal(
      await tools.run('sleep 0.2; echo ready; sleep 100', { background: true, waitFor: { output: '^ready$' } }),
      `Still running in the background after TIME. Its output matches.
Session WORKSPACE, in WORK. Command S:1.

stdout so far:
ready

stderr: empty

It goes on: limpet_wait_for_command {"commandId":"S:1"} waits for its end, limpet_stop_command {"commandId":"S:1"} stops it.`,
    );
    assert.match(await tools.run('echo free'), /^Exit code 0 .*\n.*Command S:2\.\n\nstdout:\nfree\n/);
  });

  it('tells at once of a background command that cannot start', async () => {
    assert.match(
      await tools.run('nosuchprogram', { background: true, waitFor: { port: 1 } }),
      /^Exit code 127 after TIME\. It ended before the condition held\.\n.*\n\nstdout: empty\n\nstderr:\n.*nosuchprogram: command not found$/,
    );
  });

  it('leaves out the middle of long output and says how to get it', async () => {
    const whole = Array.from({ length: 700_000 }, (_, at) => `${at + 1}\n`).join('');
    const text = await tools.run('seq 1 700000; seq 1 5 >&2', { maxTokens: 50 });
    const [, head = '', missing, cursor, tail = ''] =
      /\n\nstdout:\n([\d\n]*)\[(\d+) bytes left out here\. To read on from here: limpet_read_output {"commandId":"S:1","stream":"stdout","cursor":"([\d.]+)"}\]\n([\d\n]*)\n\nstderr:\n1\n2\n3\n4\n5$/.exec(
        text,
      ) ?? assert.fail(text);
    assert.ok(whole.startsWith(head) && head.endsWith('\n') && head.length > 40, head);
    assert.ok(whole.endsWith(`\n${tail}\n`) && tail.length > 40, tail);
    assert.ok(head.length + tail.length <= 200);
    assert.equal(head.length + Number(missing) + tail.length + 1, whole.length);
    const commandId = await tools.commandId(1);
    let read = head;
    let next: string | undefined = cursor;
    while (next !== undefined && read.length < 1_000_000) {
      const more = await tools.call('limpet_read_output', {
        commandId,
        stream: 'stdout',
        cursor: next,
        maxTokens: 50_000,
      });
      read += `${/^stdout:\n([\d\n]*)\n\n/.exec(more)?.[1]}\n`;
      next = /There is more: .*"cursor":"([\d.]+)"/.exec(more)?.[1];
    }
    assert.ok(read.length >= 1_000_000);
    assert.equal(read, whole.slice(0, read.length));
  });

  it('collapses colours and progress', async () => {
    assert.match(
      await tools.run(`printf '\\033[32mok\\033[0m\\n'; for i in 1 2 3; do printf '\\r%d of 3' $i; done; echo`),
      /\nstdout:\nok\n3 of 3\n\nstderr: empty$/,
    );
  });

  it('marks the commands with who runs them', async () => {
    await tools.run('true');
    const client = await tools.connect();
    const { commands } = await client.request('exec.list', {});
    assert.deepEqual(
      commands.map(({ origin, command }) => ({ origin, command })),
      [{ origin: 'an agent', command: 'true' }],
    );
  });

  it('makes one session for calls that come side by side', async () => {
    await Promise.all([1, 2, 3, 4].map((n) => tools.run(`echo ${n}`)));
    assert.match(await tools.call('limpet_list_sessions'), /^1 session\./);
  });

  it('cancels the command when the call is cancelled', async () => {
    let cancel = () => {};
    const answer = tools.call(
      'limpet_run_command',
      { command: 'echo begun; sleep 100' },
      {
        onCancel: (listener) => {
          cancel = listener;
          return { dispose: () => undefined };
        },
      },
    );
    const client = await tools.connect();
    await until(async () => (await client.request('exec.list', {})).commands.some((c) => c.stdoutBytes > 0), 'it runs');
    cancel();
    assert.equal(
      await answer,
      `Stopped after TIME. The session lives on.
Session WORKSPACE, in WORK. Command S:1.

stdout:
begun

stderr: empty`,
    );
  });

  it('says what is wrong with its input', async () => {
    assert.equal(
      await tools.call('limpet_run_command', { comand: 'x' }),
      'Error (invalid_params): command is missing. There is no "comand" here; there are command, session, cwd, env, stdin, interactive, background, waitFor, yieldMs, timeoutMs, maxTokens. Correct the input and call again.',
    );
    const complaints: [input: object, complaint: string][] = [
      [{ command: '' }, 'command must not be empty.'],
      [{ timeoutMs: '1000' }, 'timeoutMs must be of type number, not string.'],
      [{ yieldMs: 1e9 }, 'yieldMs must be at most 600000.'],
      [{ maxTokens: 1 }, 'maxTokens must be at least 50.'],
      [{ waitFor: { ports: 1 } }, 'There is no "ports" in waitFor; there are output, port, file, silenceMs.'],
    ];
    for (const [input, complaint] of complaints) {
      assert.equal(
        await tools.call('limpet_run_command', { command: 'true', ...input }),
        `Error (invalid_params): ${complaint} Correct the input and call again.`,
      );
    }
    assert.equal(
      await tools.call('limpet_list_sessions', { all: true }),
      'Error (invalid_params): There is no "all" here; it takes nothing. Correct the input and call again.',
    );
    assert.equal(
      await tools.run('pwd', { cwd: '/nosuch' }),
      'Error (cwd_not_found): "/nosuch" is not a directory that can be entered. Give an existing absolute path.',
    );
    assert.equal(
      await tools.run('pwd', { session: 's-00000000' }),
      'Error (session_not_found): There is no session "S". limpet_list_sessions shows the ones there are.',
    );
  });
});
