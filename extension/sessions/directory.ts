import * as path from 'node:path';
import * as vscode from 'vscode';

/** Relative to the workspace folder it is in; with the folder's name where there are several. */
export function shownDirectory(cwd: string, folders = workspaceFolders()): string {
  for (const folder of folders) {
    const relative = path.relative(folder.path, cwd);
    if (relative.split(path.sep)[0] === '..') continue;
    if (folders.length > 1) return path.join(folder.name, relative);
    return relative === '' ? '.' : `./${relative}`;
  }
  return cwd;
}

function workspaceFolders(): readonly { name: string; path: string }[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ name, uri }) => ({ name, path: uri.fsPath }));
}
