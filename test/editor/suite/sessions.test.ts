import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { LimpetApi } from '../../../extension/api';
import { commandIds } from '../../../extension/contributions';
import type { HistoryEntry } from '../../../extension/history';
import type { CommandResult, SessionInfo } from '../../../protocol/values';
import { eventually, startLimpet } from './limpet';

const call = <T>(id: string, argument: object = {}) => Promise.resolve(vscode.commands.executeCommand<T>(id, argument));

describe('commands called from code', () => {
  let api: LimpetApi;
  let folder: string;
  let session: SessionInfo;

  before(async () => {
    api = await startLimpet();
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'limpet-suite-')));
  });

  beforeEach(async () => {
    session = await call<SessionInfo>(commandIds.newSession, { name: 'from code', cwd: folder });
  });

  afterEach(() => call(commandIds.destroyAllSessions));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('make a session, and show it', async () => {
    assert.equal(session.name, 'from code');
    assert.equal(session.cwd, folder);
    assert.deepEqual(
      (await api.sessions.list()).map(({ sessionId }) => sessionId),
      [session.sessionId],
    );
  });

  it('run a command and answer with its whole result', async () => {
    const { sessionId } = session;
    const command = 'mkdir -p sub && cd sub && echo out && echo err >&2 && (exit 3)';
    const result = await call<CommandResult>(commandIds.runCommand, { sessionId, command });
    const { stdout, stderr, exitCode, outcome, cwd } = result;
    assert.deepEqual(
      { stdout, stderr, exitCode, outcome, cwd },
      { stdout: 'out\n', stderr: 'err\n', exitCode: 3, outcome: 'exited', cwd: join(folder, 'sub') },
    );
    const [shown] = await eventually(() => finished(api, sessionId, 1));
    assert.deepEqual([shown?.command, shown?.exitCode, shown?.origin], [command, 3, 'vscode']);
  });

  it('share one session of their own where none is named', async () => {
    const first = await call<CommandResult>(commandIds.runCommand, { command: 'x=kept' });
    const second = await call<CommandResult>(commandIds.runCommand, { command: 'echo $x' });
    assert.equal(second.stdout, 'kept\n');
    assert.equal(first.sessionId, second.sessionId);
    assert.notEqual(second.sessionId, session.sessionId);
  });

  it('start a command in the background, send it input and stop it', async () => {
    const { sessionId } = session;
    const { commandId } = await call<{ commandId: string }>(commandIds.runInBackground, {
      sessionId,
      command: 'read x; echo "got $x"; sleep 600',
      keepStdinOpen: true,
    });
    await call(commandIds.sendInput, { commandId, data: 'this\n' });
    await eventually(async () => (await call<string>(commandIds.copyOutput, { commandId })) === 'got this\n');
    const stopped = await call(commandIds.stopCommand, { commandId });
    assert.deepEqual(stopped, { outcome: 'cancelled', commandId });
  });

  it('kill a command that takes no notice of being stopped', async () => {
    const { sessionId } = session;
    const command = "trap '' INT TERM; while :; do sleep 1; done";
    const { commandId } = await call<{ commandId: string }>(commandIds.runInBackground, { sessionId, command });
    assert.deepEqual(await call(commandIds.killCommand, { commandId }), { outcome: 'cancelled', commandId });
  });

  it('run a command again', async () => {
    const { sessionId } = session;
    const { commandId } = await call<CommandResult>(commandIds.runCommand, { sessionId, command: 'echo again' });
    const second = await call<CommandResult>(commandIds.rerunCommand, { commandId });
    assert.equal(second.stdout, 'again\n');
    assert.notEqual(second.commandId, commandId);
    assert.equal(await call(commandIds.copyCommand, { commandId }), 'echo again');
  });

  it('open a command’s log', async () => {
    const { sessionId } = session;
    const { commandId } = await call<CommandResult>(commandIds.runCommand, { sessionId, command: 'echo in the log' });
    const path = await call<string>(commandIds.openCommandLog, { commandId });
    await eventually(() => readFileSync(path, 'utf8').includes('in the log'));
    await eventually(() => vscode.window.activeTextEditor?.document.uri.fsPath === path);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('rename a session, and destroy it', async () => {
    const { sessionId } = session;
    const renamed = await call<SessionInfo>(commandIds.renameSession, { sessionId, name: 'server' });
    assert.equal(renamed.name, 'server');
    await eventually(async () => (await api.sessions.list())[0]?.name === 'server');
    assert.deepEqual(await call(commandIds.destroySession, { sessionId }), { sessionId });
    await eventually(async () => (await api.sessions.list()).length === 0);
  });

  it('reject with a message that says what to do', async () => {
    await assert.rejects(call(commandIds.runCommand, { sessionId: 's-none', command: 'true' }), {
      message: /There is no session "s-none"/,
    });
    await assert.rejects(call(commandIds.sendInput, {}), { message: /name the command/ });
  });

  it('run the selection of an editor as a person’s command', async () => {
    const document = await vscode.workspace.openTextDocument({ content: 'echo first\necho second\n' });
    const editor = await vscode.window.showTextDocument(document);
    editor.selection = new vscode.Selection(1, 0, 1, 0);
    const { sessionId } = session;
    const result = await call<CommandResult>(commandIds.runSelection, { sessionId });
    assert.equal(result.stdout, 'second\n');
    const [shown] = await eventually(() => finished(api, sessionId, 1));
    assert.equal(shown?.origin, 'person');
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  });

  it('remember in the history what ran, by whom and how it ended', async () => {
    const { sessionId } = session;
    const command = `false # ${Date.now()}`;
    await call(commandIds.runCommand, { sessionId, command });
    const entry = await eventually(async () =>
      (await call<HistoryEntry[]>(commandIds.showHistory)).find((one) => one.command === command),
    );
    const { sessionName, cwd, origin, outcome, exitCode } = entry;
    assert.deepEqual(
      { sessionName, cwd, origin, outcome, exitCode },
      { sessionName: 'from code', cwd: folder, origin: 'vscode', outcome: 'exited', exitCode: 1 },
    );
  });

  it('examine what Limpet needs', async () => {
    const findings = await call<{ ok: boolean; subject: string }[]>(commandIds.doctor);
    assert.deepEqual(
      findings.filter(({ ok }) => !ok),
      [],
    );
    assert.ok(findings.some(({ subject }) => subject === 'Shells'));
  });
});

function finished(api: LimpetApi, sessionId: string, count: number) {
  const commands = api.sessions.commands(sessionId).filter(({ state }) => state === 'finished');
  return commands.length >= count ? commands : undefined;
}
