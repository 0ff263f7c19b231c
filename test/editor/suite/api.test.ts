import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { LimpetApi } from '../../../limpet';
import { eventually, limpetExtension, startLimpet } from './limpet';

describe('the API for other extensions', () => {
  let limpet: LimpetApi;
  beforeEach(async () => {
    await startLimpet();
    limpet = limpetExtension().exports;
  });
  afterEach(async () => {
    for (const { sessionId } of await limpet.sessions.list()) await limpet.sessions.destroy(sessionId);
  });

  it('runs a command in a session and streams its output', async () => {
    const printed: string[] = [];
    const { outcome, exitCode, stdout, stderr, cwd } = await limpet.run('cd /; echo out; echo err >&2; (exit 3)', {
      session: 'mine',
      onOutput: (stream, text) => printed.push(`${stream} ${text}`),
    });
    assert.deepEqual(
      { outcome, exitCode, stdout, stderr, cwd },
      { outcome: 'exited', exitCode: 3, stdout: 'out\n', stderr: 'err\n', cwd: '/' },
    );
    assert.deepEqual(printed.sort(), ['stderr err\n', 'stdout out\n']);
    assert.equal((await limpet.run('pwd', { session: 'mine' })).stdout, '/\n');
  });

  it('uses the session of the workspace folder by default', async () => {
    const { stdout } = await limpet.run('pwd');
    assert.equal(stdout, `${vscode.workspace.workspaceFolders?.[0]?.uri.fsPath}\n`);
    assert.equal((await limpet.sessions.list()).length, 1);
  });

  it('ends a command when its call is cancelled', async () => {
    const cancelling = new vscode.CancellationTokenSource();
    const onOutput = () => cancelling.cancel();
    const { outcome } = await limpet.run('echo begun; sleep 100', { onOutput, cancellation: cancelling.token });
    assert.equal(outcome, 'cancelled');
  });

  it('starts, waits for and stops a background command', async () => {
    const { commandId } = await limpet.start('sleep 100', { origin: 'a test' });
    assert.equal(await limpet.wait(commandId, 10), undefined);
    await limpet.stop(commandId);
    assert.equal((await limpet.wait(commandId))?.outcome, 'cancelled');
    const [sessionId = ''] = commandId.split(':');
    const command = await eventually(() =>
      limpet.sessions.commands(sessionId).find(({ state }) => state === 'finished'),
    );
    assert.deepEqual([command.command, command.origin], ['sleep 100', 'a test']);
  });

  it('fails with a code and a message that says what to do', async () => {
    await assert.rejects(limpet.run('pwd', { session: 's-00000000' }), (thrown: Error & { code?: string }) => {
      assert.equal(thrown.code, 'session_not_found');
      return true;
    });
  });
});
