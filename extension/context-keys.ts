import * as vscode from 'vscode';
import { type ContextKey, contextKeys } from './contributions';
import type { SessionsModel } from './sessions/model';
import type { SessionsTree } from './sessions/tree';
import type { Supervisor } from './supervisor';

/** For a place where there will never be a sidecar. */
export function publishUnsupported(): void {
  void vscode.commands.executeCommand('setContext', contextKeys.sidecar, 'unsupported');
}

export function publishContextKeys(
  supervisor: Supervisor,
  model: SessionsModel,
  tree: SessionsTree,
): vscode.Disposable {
  const set = onlyOnChange((key, value) => void vscode.commands.executeCommand('setContext', key, value));
  const publishSessions = () => {
    set(contextKeys.hasSessions, model.sessions.length > 0);
    set(contextKeys.hasRunning, model.unfinished.length > 0);
  };
  set(contextKeys.sidecar, supervisor.state.kind);
  publishSessions();
  return vscode.Disposable.from(
    supervisor.onDidChange((state) => set(contextKeys.sidecar, state.kind)),
    tree.onDidChangeTreeData(publishSessions),
  );
}

type SetContext = (key: ContextKey, value: string | boolean) => void;

/** Every `setContext` makes the window evaluate its `when` clauses again. */
export function onlyOnChange(set: SetContext): SetContext {
  const known = new Map<ContextKey, string | boolean>();
  return (key, value) => {
    if (known.get(key) === value) return;
    known.set(key, value);
    set(key, value);
  };
}
