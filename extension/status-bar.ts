import * as vscode from 'vscode';
import { commandIds, viewIds } from './contributions';
import type { SessionsModel } from './sessions/model';
import type { SessionsTree } from './sessions/tree';
import type { SidecarState, Supervisor } from './supervisor';

export interface StatusBarContent {
  text: string;
  tooltip: string;
  command?: string;
  background?: 'warning' | 'error';
}

/** What the status bar says about a state and the number of running commands; undefined hides it. */
export function statusBarContent(state: SidecarState, running = 0): StatusBarContent | undefined {
  switch (state.kind) {
    case 'stopped':
      return undefined;
    case 'starting':
      return { text: '$(loading~spin) Limpet', tooltip: vscode.l10n.t('The Limpet sidecar is starting.') };
    case 'running': {
      const { version, pid } = state.client.sidecar;
      const commands = vscode.l10n.t('Commands running: {0}.', running);
      const sidecar = vscode.l10n.t('The Limpet sidecar {0} is running (process {1}).', version, pid);
      return {
        text: running === 0 ? '$(terminal) Limpet' : `$(terminal) Limpet: ${vscode.l10n.t('{0} running', running)}`,
        tooltip: `${running === 0 ? '' : `${commands} `}${sidecar} ${vscode.l10n.t('Select to see the sessions.')}`,
        command: `${viewIds.sessions}.focus`,
      };
    }
    case 'restarting':
      return {
        text: `$(loading~spin) Limpet: ${vscode.l10n.t('restarting')}`,
        tooltip: `${vscode.l10n.t('The Limpet sidecar is being restarted.')} ${state.reason}`,
        command: commandIds.showLog,
        background: 'warning',
      };
    case 'failed':
      return {
        text: `$(error) Limpet: ${vscode.l10n.t('no sidecar')}`,
        tooltip: `${vscode.l10n.t('Limpet cannot run commands. {0}', state.reason)} ${vscode.l10n.t('Select to try again.')}`,
        command: commandIds.restartSidecar,
        background: 'error',
      };
  }
}

const backgrounds = {
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};

export function createStatusBar(supervisor: Supervisor, model: SessionsModel, tree: SessionsTree): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('limpet.sidecar', vscode.StatusBarAlignment.Right, 50);
  item.name = 'Limpet';
  let shown = '';
  const render = () => {
    const content = statusBarContent(supervisor.state, model.unfinished.length);
    if (JSON.stringify(content) === shown) return;
    shown = JSON.stringify(content);
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
  render();
  return vscode.Disposable.from(supervisor.onDidChange(render), tree.onDidChangeTreeData(render), item);
}
