import * as vscode from 'vscode';
import { viewIds } from '../contributions';

/** A line of the Sessions view. */
export type SessionsNode = never;

export class SessionsTree implements vscode.TreeDataProvider<SessionsNode>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;

  getTreeItem(node: SessionsNode): vscode.TreeItem {
    return node;
  }

  getChildren(): SessionsNode[] {
    return [];
  }

  dispose(): void {
    this.#changed.dispose();
  }
}

export function createSessionsView(): vscode.Disposable {
  const tree = new SessionsTree();
  return vscode.Disposable.from(vscode.window.createTreeView(viewIds.sessions, { treeDataProvider: tree }), tree);
}
