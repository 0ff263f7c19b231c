import { renameSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { registerAgent } from './participant';
import { registerScriptedModel, vendor } from './scripted-model';
import { scripts } from './scripts';
import { tryAllTools } from './untrusted';

/** An agent for the chat of the editor under test. What its tools answered is written to a file. */
export function activate(extension: vscode.ExtensionContext): void {
  if (!vscode.workspace.isTrusted) {
    void tryAllTools().then(tell);
    return;
  }
  extension.subscriptions.push(registerScriptedModel(scripts(20_000 + (process.pid % 10_000))), registerAgent(tell));
  // Makes the editor ask for the models there are, so that the chat has one to offer.
  void vscode.lm.selectChatModels({ vendor });
}

/** Whoever waits for the file must never see half of it. */
function tell(what: unknown): void {
  const report = process.env.LIMPET_AGENT_REPORT ?? '';
  writeFileSync(`${report}.part`, JSON.stringify(what));
  renameSync(`${report}.part`, report);
}
