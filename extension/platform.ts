import * as vscode from 'vscode';

/** Why Limpet cannot work here, in words for the user; undefined where it can. */
export function whyUnsupported(platform: NodeJS.Platform = process.platform): string | undefined {
  if (platform !== 'win32') return undefined;
  return vscode.l10n.t(
    'Limpet needs Linux, macOS or WSL. On Windows, open this folder in WSL ("WSL: Reopen Folder in WSL") and install Limpet there.',
  );
}
