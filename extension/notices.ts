import * as vscode from 'vscode';
import { commandIds } from './contributions';
import type { SidecarState, Supervisor } from './supervisor';

export interface Notice {
  severity: 'warning' | 'error';
  message: string;
}

/**
 * One message per incident: attempts in between are the status bar's business. An incident begins when a sidecar is lost
 * or does not come up, and ends with one that runs or with giving up.
 */
export function incidentNotices(): (state: SidecarState) => Notice | undefined {
  let hasRun = false;
  let lost = false;
  return (state) => {
    if (state.kind === 'restarting' && state.attempt > 0) {
      lost ||= hasRun;
    } else if (state.kind === 'running') {
      const notice: Notice | undefined = lost
        ? { severity: 'warning', message: vscode.l10n.t('The Limpet sidecar ended and was started again.') }
        : undefined;
      hasRun = true;
      lost = false;
      return notice;
    } else if (state.kind === 'failed') {
      lost = false;
      return { severity: 'error', message: vscode.l10n.t('Limpet cannot run commands. {0}', state.reason) };
    }
    return undefined;
  };
}

export function reportIncidents(supervisor: Supervisor): vscode.Disposable {
  const noticeFor = incidentNotices();
  return supervisor.onDidChange((state) => {
    const notice = noticeFor(state);
    if (notice !== undefined) void show(notice);
  });
}

async function show({ severity, message }: Notice): Promise<void> {
  const showLog = vscode.l10n.t('Show Log');
  const tryAgain = vscode.l10n.t('Try Again');
  const chosen =
    severity === 'error'
      ? await vscode.window.showErrorMessage(message, showLog, tryAgain)
      : await vscode.window.showWarningMessage(message, showLog);
  if (chosen === showLog) await vscode.commands.executeCommand(commandIds.showLog);
  if (chosen === tryAgain) await vscode.commands.executeCommand(commandIds.restartSidecar);
}
