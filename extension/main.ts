import * as vscode from 'vscode';
import { SidecarClient } from '../client/client';
import { createApi, type LimpetApi } from './api';
import { registerCommands } from './commands';
import type { Ctx } from './context';
import { publishContextKeys, publishUnsupported } from './contextKeys';
import { reportIncidents } from './notices';
import { whyUnsupported } from './platform';
import { createSessionsView } from './sessions/tree';
import { createStatusBar } from './statusBar';
import { type SidecarState, Supervisor } from './supervisor';

export function activate(extension: vscode.ExtensionContext): LimpetApi | undefined {
  const unsupported = whyUnsupported();
  if (unsupported !== undefined) {
    extension.subscriptions.push(registerCommands({ unsupported }), createSessionsView());
    publishUnsupported();
    void vscode.window.showWarningMessage(unsupported);
    return undefined;
  }

  const log = vscode.window.createOutputChannel('Limpet', { log: true });
  const sidecarPath = extension.asAbsolutePath('dist/sidecar.js');
  const supervisor = new Supervisor({
    connect: () => SidecarClient.connect({ clientName: 'vscode', sidecarPath }),
  });
  const ctx: Ctx = { supervisor, log };

  extension.subscriptions.push(
    log,
    supervisor,
    supervisor.onDidChange((state) => log.info(describe(state))),
    registerCommands(ctx),
    createSessionsView(),
    createStatusBar(supervisor),
    publishContextKeys(supervisor),
    reportIncidents(supervisor),
  );
  supervisor.start();
  return createApi(supervisor);
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
