import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { sidecarLogPath } from '../../../client/client';
import type { LimpetApi } from '../../../extension/api';
import { commandIds } from '../../../extension/contributions';
import { eventually, startLimpet } from './limpet';

const pidOf = async (api: LimpetApi) => (await (await api.sidecar.client()).request('system.ping', {})).pid;

describe('the sidecar', () => {
  it('is replaced within two seconds when it is killed', async () => {
    const api = await startLimpet();
    const states: string[] = [];
    const subscription = api.sidecar.onDidChangeState((state) => states.push(state));
    const killed = await pidOf(api);
    const started = Date.now();
    process.kill(killed, 'SIGKILL');
    await eventually(() => states.includes('running'));
    const successor = await pidOf(api);
    const elapsed = Date.now() - started;
    subscription.dispose();
    assert.notEqual(successor, killed);
    assert.deepEqual(states, ['restarting', 'running']);
    assert.ok(elapsed < 2000, `it took ${elapsed} ms`);
  });

  it('is ended and started again by Limpet: Restart Sidecar', async () => {
    const api = await startLimpet();
    const before = await pidOf(api);
    await vscode.commands.executeCommand(commandIds.restartSidecar);
    const after = await pidOf(api);
    assert.notEqual(after, before);
    await eventually(() => !isAlive(before));
    assert.equal(api.sidecar.state, 'running');
  });

  it('is replaced by Limpet: Restart Sidecar even when it is frozen', async () => {
    const api = await startLimpet();
    const frozen = await pidOf(api);
    process.kill(frozen, 'SIGSTOP');
    await vscode.commands.executeCommand(commandIds.restartSidecar);
    assert.notEqual(await pidOf(api), frozen);
    await eventually(() => !isAlive(frozen));
  });

  it('is restarted once when two ask for it at the same time', async () => {
    const api = await startLimpet();
    const states: string[] = [];
    const subscription = api.sidecar.onDidChangeState((state) => states.push(state));
    await Promise.all([
      vscode.commands.executeCommand(commandIds.restartSidecar),
      vscode.commands.executeCommand(commandIds.restartSidecar),
    ]);
    subscription.dispose();
    assert.deepEqual(states, ['restarting', 'running']);
  });

  it('has its log opened at the end by Limpet: Show Log', async () => {
    await startLimpet();
    await vscode.commands.executeCommand(commandIds.showLog);
    const editor = await eventually(() => vscode.window.activeTextEditor);
    assert.equal(editor.document.uri.fsPath, sidecarLogPath(process.env));
    assert.equal(editor.selection.active.line, editor.document.lineCount - 1);
    assert.ok(editor.document.getText().length > 0, 'the log says something');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
