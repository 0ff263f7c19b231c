import type * as vscode from 'vscode';
import type { Supervisor } from './supervisor';

/** What everything in the extension works with. It exists only where sidecars can run. */
export interface Ctx {
  readonly supervisor: Supervisor;
  readonly log: vscode.LogOutputChannel;
}
