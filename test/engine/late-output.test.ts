import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachShell, OpenedEngine, type OpenedSession, until } from '../helpers/engine';

/** Leaves something behind that prints when it is told to. */
const leaving =
  '{ until [ -e go ]; do sleep 0.01; done; echo late; echo more >&2; } & seq 1 $lines; echo done; echo err >&2';

async function startIn(session: OpenedSession, lines = 0) {
  const command = await session.start(leaving, { env: { lines: String(lines) } });
  /** What is told of the output, whoever is asked. */
  const told = async () => {
    const { stdout, stdoutBytes, stderr, stderrBytes, truncated } = await command.wait();
    return { stdout, stdoutBytes, stderr, stderrBytes, truncated };
  };
  const first = await told();
  const goOn = async () => {
    await writeFile(join(session.cwd, 'go'), '');
    await until('both lines are counted', async () => {
      const { stdoutBytes, stderrBytes } = await command.wait();
      return stdoutBytes === first.stdoutBytes + 5 && stderrBytes === first.stderrBytes + 5;
    });
  };
  return { command, told, first, goOn };
}

const whole = { stdout: false, stderr: false };

forEachShell('Output that comes after the end of its command', (suite) => {
  it('is in the result from then on, text and count alike', async () => {
    const { command, told, first, goOn } = await startIn(suite.session);
    const [before, after] = ['done\n', 'done\nlate\n'];
    assert.deepEqual(first, { stdout: before, stdoutBytes: 5, stderr: 'err\n', stderrBytes: 4, truncated: whole });
    await goOn();
    const late = { stdout: after, stdoutBytes: 10, stderr: 'err\nmore\n', stderrBytes: 9, truncated: whole };
    assert.deepEqual(await told(), late);
    const { commands } = suite.opened.engine.listCommands({ sessionId: suite.session.id });
    const listed = commands.find(({ commandId }) => commandId === command.id);
    assert.deepEqual([listed?.stdout ?? after, listed?.stdoutBytes], [after, 10]);
  });

  it('is in a long result as well', async () => {
    const { told, goOn } = await startIn(suite.session, 5000);
    await goOn();
    const numbers = Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join('');
    const stdout = `${numbers}done\nlate\n`;
    assert.deepEqual(await told(), {
      stdout,
      stdoutBytes: stdout.length,
      stderr: 'err\nmore\n',
      stderrBytes: 9,
      truncated: whole,
    });
  });

  it('is counted among all that was printed, at once and for good', async () => {
    const counting = await OpenedEngine.open();
    try {
      const session = await counting.session(suite.shell);
      const { goOn, command } = await startIn(session);
      assert.deepEqual(counting.engine.stats().bytes, { stdout: 5, stderr: 4 });
      await goOn();
      assert.deepEqual(counting.engine.stats().bytes, { stdout: 10, stderr: 9 });
      const { logPath = '' } = await command.wait();
      await until('no more can come', () => existsSync(logPath.replace(/log$/, 'labelers.done')));
      assert.deepEqual(counting.engine.stats().bytes, { stdout: 10, stderr: 9 });
      await session.destroy();
      assert.deepEqual(counting.engine.stats().bytes, { stdout: 10, stderr: 9 });
    } finally {
      await counting.dispose();
    }
  });

  it('is counted as missing where the log takes no more, and what is remembered stays', async () => {
    // Room for what comes in time, with the prefixes of both lines.
    const limited = await OpenedEngine.open({ limits: { maxLogBytesPerCommand: 20 } });
    try {
      const { told, goOn } = await startIn(await limited.session(suite.shell));
      await goOn();
      const truncated = { stdout: true, stderr: true };
      const missing = (stream: string) => `\n[limpet: 5 bytes of ${stream} left out here; they are in no log]\n`;
      assert.deepEqual(await told(), {
        stdout: `done\n${missing('stdout')}`,
        stdoutBytes: 10,
        stderr: `err\n${missing('stderr')}`,
        stderrBytes: 9,
        truncated,
      });
    } finally {
      await limited.dispose();
    }
  });
});
