import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Ctx } from '../../../extension/context';
import { AgentTool, Toolboxes } from '../../../extension/tools/tool';
import { contributedTools, toolNames } from '../../../protocol/tools/definitions';
import { eventually, limpetExtension, startLimpet } from './limpet';

async function call(name: string, input: object, token?: vscode.CancellationToken): Promise<string> {
  const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, token);
  const [part] = content;
  assert.ok(part instanceof vscode.LanguageModelTextPart);
  return part.value;
}

const rules = (allowed: string[] | undefined) =>
  vscode.workspace.getConfiguration('limpet').update('allowedCommands', allowed, vscode.ConfigurationTarget.Global);

describe('the tools for agents', () => {
  before(startLimpet);
  afterEach(async () => {
    await rules(undefined);
    const client = await (await startLimpet()).sidecar.client();
    const { sessions } = await client.request('session.list', {});
    for (const { sessionId } of sessions) await client.request('session.destroy', { sessionId });
  });

  it('are declared as the code defines them, and known to the editor', () => {
    assert.deepEqual(limpetExtension().packageJSON.contributes.languageModelTools, contributedTools());
    const known = vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith('limpet_'));
    assert.deepEqual(known.sort(), [...toolNames].sort());
  });

  it('need no consent to look around', async () => {
    assert.match(await call('limpet_list_sessions', {}), /^There are no sessions\. /);
  });

  it('run what the user allowed once and for all, and mark it as the agent’s', async () => {
    await rules(['echo']);
    assert.match(
      await call('limpet_run_command', { command: 'echo a' }),
      /^Exit code 0 .*\n.*\n\nstdout:\na\n\nstderr: empty$/,
    );
    const { sessions } = await startLimpet();
    const [session] = await sessions.list();
    assert.ok(session);
    const [command] = await eventually(() => {
      const commands = sessions.commands(session.sessionId);
      return commands.length > 0 ? commands : undefined;
    });
    assert.deepEqual([command?.command, command?.origin], ['echo a', 'agent']);
  });

  it('ask, whatever a workspace allows itself', async () => {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    const settings = vscode.Uri.joinPath(folder.uri, '.vscode', 'settings.json');
    const claimed = { 'limpet.allowedCommands': ['echo'], 'limpet.reveal': 'never' };
    await vscode.workspace.fs.writeFile(settings, Buffer.from(JSON.stringify(claimed)));
    try {
      const read = (id: string) => vscode.workspace.getConfiguration('limpet').inspect(id);
      // The one setting that is a workspace's to make tells when the file has been read.
      await eventually(() => read('reveal')?.workspaceValue === 'never' || undefined);
      assert.deepEqual(vscode.workspace.getConfiguration('limpet').get('allowedCommands'), []);
      const ctx = { model: { sessions: [], command: () => undefined } } as unknown as Ctx;
      const tool = new AgentTool('limpet_run_command', ctx, new Toolboxes(ctx));
      assert.ok(tool.prepareInvocation({ input: { command: 'echo a' } }).confirmationMessages);
      await rules(['echo']);
      assert.equal(tool.prepareInvocation({ input: { command: 'echo a' } }).confirmationMessages, undefined);
    } finally {
      await vscode.workspace.fs.delete(vscode.Uri.joinPath(folder.uri, '.vscode'), { recursive: true });
    }
  });

  it('stop the command when the call is cancelled', async () => {
    await rules(['sleep']);
    const cancelling = new vscode.CancellationTokenSource();
    const called = call('limpet_run_command', { command: 'sleep 100' }, cancelling.token).catch(() => 'cancelled');
    const client = await (await startLimpet()).sidecar.client();
    const commands = async () => (await client.request('exec.list', {})).commands;
    await eventually(async () => (await commands()).some(({ state }) => state === 'running'));
    cancelling.cancel();
    assert.equal(await called, 'cancelled');
    await eventually(async () => (await commands()).every(({ outcome }) => outcome === 'cancelled'));
  });

  it('tell a model what to do about a mistake', async () => {
    await assert.rejects(
      call('limpet_read_output', { commandId: 'x' }),
      /There is no command "x"\. limpet_list_sessions shows/,
    );
  });

  it('are served over MCP by the editor’s own Node, as the extension announces it', async () => {
    const program = join(limpetExtension().extensionPath, 'dist', 'limpet.js');
    const server = spawn(process.execPath, [program, 'mcp', '--cwd', '/'], {
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
    });
    try {
      let said = '';
      server.stdout.on('data', (data) => {
        said += data;
      });
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
      const answer = JSON.parse(await eventually(() => said.split('\n').find((line) => line.endsWith('}'))));
      assert.equal(answer.result.serverInfo.name, 'limpet');
    } finally {
      server.stdin.end();
    }
  });
});
