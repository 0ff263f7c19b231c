import * as vscode from 'vscode';
import { type ContextKey, contextKeys } from './contributions';
import type { Supervisor } from './supervisor';

/** For a place where there will never be a sidecar. */
export function publishUnsupported(): void {
  void vscode.commands.executeCommand('setContext', contextKeys.sidecar, 'unsupported');
}

export function publishContextKeys(supervisor: Supervisor): vscode.Disposable {
  const set = onlyOnChange((key, value) => void vscode.commands.executeCommand('setContext', key, value));
  set(contextKeys.sidecar, supervisor.state.kind);
  return supervisor.onDidChange((state) => set(contextKeys.sidecar, state.kind));
}

type SetContext = (key: ContextKey, value: string) => void;

/** Every `setContext` makes the window evaluate its `when` clauses again. */
export function onlyOnChange(set: SetContext): SetContext {
  const known = new Map<ContextKey, string>();
  return (key, value) => {
    if (known.get(key) === value) return;
    known.set(key, value);
    set(key, value);
  };
}
