import * as vscode from 'vscode';
import { SidecarClient } from '../client/client';
import { createApi, type LimpetApi } from './api';
import { registerCommands } from './commands';
import { createSession } from './commands/create-session';
import type { Ctx } from './context';
import { publishContextKeys, publishUnsupported } from './context-keys';
import { History } from './history';
import { reportIncidents } from './notices';
import { OutputChannels } from './output/channels';
import { whyUnsupported } from './platform';
import { SessionsModel } from './sessions/model';
import { createEmptyView, createSessionsView, SessionsTree } from './sessions/tree';
import { offerRestart, sidecarEnvironment } from './settings';
import { createStatusBar } from './status-bar';
import { type SidecarState, Supervisor } from './supervisor';
import { Terminals } from './terminal/terminals';
import { registerAgentTools } from './tools/register';

export function activate(extension: vscode.ExtensionContext): LimpetApi | undefined {
  const unsupported = whyUnsupported();
  if (unsupported !== undefined) {
    extension.subscriptions.push(registerCommands({ unsupported }), createEmptyView());
    publishUnsupported();
    void vscode.window.showWarningMessage(unsupported);
    return undefined;
  }

  const log = vscode.window.createOutputChannel('Limpet', { log: true });
  const sidecarPath = extension.asAbsolutePath('dist/sidecar.js');
  const supervisor = new Supervisor({
    connect: () => SidecarClient.connect({ clientName: 'vscode', sidecarPath, env: sidecarEnvironment(process.env) }),
  });
  const connect = () => supervisor.client();
  const model = new SessionsModel(supervisor);
  const tree = new SessionsTree(model);
  const history = new History(model, extension.workspaceState);
  const channels = new OutputChannels(model, connect);
  const terminals = new Terminals(model, history, connect);
  const ctx: Ctx = { supervisor, log, model, tree, channels, terminals, history, connect };

  extension.subscriptions.push(
    log,
    model,
    tree,
    history,
    channels,
    terminals,
    supervisor,
    supervisor.onDidChange((state) => log.info(describe(state))),
    registerCommands(ctx),
    createSessionsView(model, tree),
    createStatusBar(supervisor, model, tree),
    publishContextKeys(supervisor, model, tree),
    reportIncidents(supervisor),
    offerRestart(),
    terminals.contributeProfile(() => createSession(ctx, {})),
    registerAgentTools(ctx, extension),
  );
  supervisor.start();
  return createApi(ctx);
}

function describe(state: SidecarState): string {
  switch (state.kind) {
    case 'running':
      return `sidecar running: process ${state.client.sidecar.pid}, version ${state.client.sidecar.version}`;
    case 'restarting':
      return `sidecar restarting (${state.attempt}): ${state.reason}`;
    case 'failed':
      return `sidecar failed: ${state.reason}`;
    default:
      return `sidecar ${state.kind}`;
  }
}
