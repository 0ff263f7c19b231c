import * as vscode from 'vscode';
import { commandIds } from './contributions';
import type { SidecarState, Supervisor } from './supervisor';

export interface StatusBarContent {
  text: string;
  tooltip: string;
  command?: string;
  background?: 'warning' | 'error';
}

/** What the status bar says about a state; undefined hides it. */
export function statusBarContent(state: SidecarState): StatusBarContent | undefined {
  switch (state.kind) {
    case 'stopped':
      return undefined;
    case 'starting':
      return { text: '$(loading~spin) Limpet', tooltip: 'The Limpet sidecar is starting.' };
    case 'running':
      return {
        text: '$(terminal) Limpet',
        tooltip: `The Limpet sidecar ${state.client.sidecar.version} is running (process ${state.client.sidecar.pid}). Select to see its log.`,
        command: commandIds.showSidecarLog,
      };
    case 'restarting':
      return {
        text: '$(loading~spin) Limpet: restarting',
        tooltip: `The Limpet sidecar is being restarted. ${state.reason}`,
        command: commandIds.showSidecarLog,
        background: 'warning',
      };
    case 'failed':
      return {
        text: '$(error) Limpet: no sidecar',
        tooltip: `Limpet cannot run commands. ${state.reason} Select to try again.`,
        command: commandIds.restartSidecar,
        background: 'error',
      };
  }
}

const backgrounds = {
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};

export function createStatusBar(supervisor: Supervisor): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('limpet.sidecar', vscode.StatusBarAlignment.Right, 50);
  item.name = 'Limpet Sidecar';
  const render = (state: SidecarState) => {
    const content = statusBarContent(state);
    if (content === undefined) {
      item.hide();
      return;
    }
    item.text = content.text;
    item.tooltip = content.tooltip;
    item.accessibilityInformation = { label: content.tooltip };
    item.command = content.command;
    item.backgroundColor = content.background && backgrounds[content.background];
    item.show();
  };
  render(supervisor.state);
  return vscode.Disposable.from(supervisor.onDidChange(render), item);
}
