import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import { sidecarLogPath } from '../client/client';
import type { Ctx } from './context';

/** Opens the log at its end. A sidecar that never came up has none; then what the extension saw is what there is. */
export async function showSidecarLog({ log }: Ctx): Promise<void> {
  const path = sidecarLogPath(process.env);
  if (!existsSync(path)) {
    log.warn(`The sidecar has written no log to ${path}.`);
    log.show();
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  const end = document.lineAt(document.lineCount - 1).range.end;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(end, end) });
}
