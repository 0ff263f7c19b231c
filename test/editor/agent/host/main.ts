import { renameSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { job } from './job';
import { registerAgent } from './participant';
import { registerScriptedModel, vendor } from './scripted-model';

/** An agent for the chat of the editor under test. What its tools answered is written to a file. */
export function activate(extension: vscode.ExtensionContext): void {
  const report = process.env.LIMPET_AGENT_REPORT ?? '';
  extension.subscriptions.push(
    registerScriptedModel({ job: job(20_000 + (process.pid % 10_000)) }),
    registerAgent((calls) => {
      // Whoever waits for the file must never see half of it.
      writeFileSync(`${report}.part`, JSON.stringify(calls));
      renameSync(`${report}.part`, report);
    }),
  );
  // Makes the editor ask for the models there are, so that the chat has one to offer.
  void vscode.lm.selectChatModels({ vendor });
}
