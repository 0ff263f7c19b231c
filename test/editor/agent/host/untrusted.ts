import * as vscode from 'vscode';
import type { Ctx } from '../../../../extension/context';
import { AgentTool, Toolboxes } from '../../../../extension/tools/tool';
import { type ToolInput, toolNames } from '../../../../protocol/tools/definitions';
import { textOf } from './scripted-model';

/** What an agent gets to see of the tools in a workspace that is not trusted. */
export interface Tried {
  known: string[];
  /** By the tool's name. */
  answers: Record<string, string>;
  /** The tool's own answer, past the editor and its preparations. */
  pastTheEditor: string;
  /** How often the tool then asked for a sidecar. */
  connections: number;
}

/** Calls every tool, as another extension in this workspace could. */
export async function tryAllTools(): Promise<Tried> {
  // Its activation may still be under way, or never happen.
  await Promise.resolve(vscode.extensions.getExtension('limpet.limpet')?.activate()).catch(() => undefined);
  const answers: Record<string, string> = {};
  for (const name of toolNames) answers[name] = await answerOf(() => invokeThroughTheEditor(name));
  let connections = 0;
  const connect: Ctx['connect'] = () => {
    connections++;
    return Promise.reject(new Error('It wanted a sidecar.'));
  };
  // Neither tool nor toolboxes use more of it before they run something.
  const ctx = { connect } as unknown as Ctx;
  const tool = new AgentTool('limpet_run_command', ctx, new Toolboxes(ctx));
  const input: ToolInput<'limpet_run_command'> = { command: 'touch ran' };
  const token = new vscode.CancellationTokenSource().token;
  const pastTheEditor = await answerOf(() => tool.invoke({ input, toolInvocationToken: undefined }, token));
  const known = vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith('limpet_'));
  return { known, answers, pastTheEditor, connections };
}

function invokeThroughTheEditor(name: string): Thenable<vscode.LanguageModelToolResult> {
  const input = { command: 'touch ran', commandId: 's-00000000:1', session: 'x' };
  return vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
}

async function answerOf(call: () => Thenable<vscode.LanguageModelToolResult>): Promise<string> {
  try {
    return textOf(await call());
  } catch (thrown) {
    return `FAILED ${(thrown as Error).message}`;
  }
}
