import { homedir } from 'node:os';
import * as vscode from 'vscode';
import type { Cancellation } from '../../protocol/tools/client';
import { defaultMaxTokens, type ToolInput, type ToolName, tools } from '../../protocol/tools/definitions';
import { workspaceAt } from '../../protocol/tools/sessions';
import { Toolbox } from '../../protocol/tools/toolbox';
import type { Ctx } from '../context';
import { sessionDefaults } from '../settings';
import { type Known, prepare } from './consent';

/** How people see who runs these commands. */
const origin = 'agent';

/** One of the tools, as the editor calls it for a model. */
export class AgentTool<N extends ToolName> implements vscode.LanguageModelTool<ToolInput<N>> {
  constructor(
    private readonly name: N,
    private readonly ctx: Ctx,
    private readonly toolboxes: Toolboxes,
  ) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<ToolInput<N>>) {
    refuseUntrusted();
    // What is wrong with it is told by the invocation, which then does nothing.
    const parsed = tools[this.name].input.safeParse(input);
    return parsed.success ? prepare[this.name](parsed.data as ToolInput<N>, knownTo(this.ctx)) : {};
  }

  async invoke(
    { input, tokenizationOptions }: vscode.LanguageModelToolInvocationOptions<ToolInput<N>>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    refuseUntrusted();
    const toolbox = this.toolboxes.at(folderFor((input as { cwd?: unknown }).cwd));
    const wanted = 'maxTokens' in shapeOf(this.name) ? withinBudget(input, tokenizationOptions?.tokenBudget) : input;
    const { text, isError } = await toolbox.call(this.name, wanted, cancellationOf(token));
    if (isError) throw new Error(text);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  }
}

/** One toolbox per workspace folder, so that each has its own session. */
export class Toolboxes {
  private readonly byFolder = new Map<string, Toolbox>();

  constructor(private readonly ctx: Ctx) {}

  at(folder: string): Toolbox {
    const known = this.byFolder.get(folder);
    if (known !== undefined) return known;
    const { connect } = this.ctx;
    const toolbox = new Toolbox({
      client: { request: async (method, params) => (await connect()).request(method, params) },
      workspace: workspaceAt(folder),
      origin,
      sessionDefaults,
    });
    this.byFolder.set(folder, toolbox);
    return toolbox;
  }
}

/** The workspace folder that a directory is in; the first one for any other. */
export function folderFor(cwd: unknown): string {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const containing =
    typeof cwd === 'string' && cwd.startsWith('/')
      ? vscode.workspace.getWorkspaceFolder(vscode.Uri.file(cwd))
      : undefined;
  return (containing ?? folders[0])?.uri.fsPath ?? homedir();
}

/** The editor activates nothing in such a workspace, but another extension might call what was active before. */
function refuseUntrusted(): void {
  if (vscode.workspace.isTrusted) return;
  throw new Error('This workspace is not trusted, so no commands are run in it. Ask the user to trust it first.');
}

function knownTo({ model }: Ctx): Known {
  return {
    place: (session, cwd) => {
      const { folder, sessionName } = workspaceAt(folderFor(cwd));
      const name = session ?? sessionName;
      const found = model.sessions.find(({ sessionId, name: called }) => sessionId === name || called === name);
      return { session: found?.name ?? name, cwd: cwd ?? found?.cwd ?? folder };
    },
    command: (commandId) => model.command(commandId)?.command,
    allowRules: allowRules(),
  };
}

/** Only what the user set for all of the editor: a workspace must not allow itself anything. */
function allowRules(): string[] {
  const rules = vscode.workspace.getConfiguration('limpet').inspect<unknown>('allowedCommands')?.globalValue;
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === 'string') : [];
}

const shapeOf = (name: ToolName): object => tools[name].input.shape;

function withinBudget<T>(input: T, tokenBudget = defaultMaxTokens): T {
  const asked = (input as { maxTokens?: number }).maxTokens ?? defaultMaxTokens;
  return { ...input, maxTokens: Math.max(50, Math.min(asked, Math.floor(tokenBudget))) };
}

const cancellationOf = (token: vscode.CancellationToken): Cancellation => ({
  onCancel: (listener) => {
    if (token.isCancellationRequested) listener();
    return token.onCancellationRequested(listener);
  },
});
