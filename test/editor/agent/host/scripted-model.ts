import * as vscode from 'vscode';

/** One move of the model: a call of a tool, or the words it ends with. */
export type Move = { tool: string; input: object } | { say: string };
/** What a model would do next, knowing the results so far. */
export type Script = (results: readonly string[], tools: readonly string[]) => Move;

/** The part of the language-model provider API that newer editors have and our types do not know yet. */
interface ModelApi {
  registerLanguageModelChatProvider(vendor: string, provider: object): vscode.Disposable;
}

export const vendor = 'limpet-scripted';

const model = {
  id: 'script',
  name: 'Scripted',
  family: 'script',
  version: '1',
  maxInputTokens: 100_000,
  maxOutputTokens: 10_000,
  capabilities: { toolCalling: true },
};

/** A model that follows scripts: the first word it is told names the one to follow. */
export function registerScriptedModel(scripts: Record<string, Script>): vscode.Disposable {
  return (vscode.lm as unknown as ModelApi).registerLanguageModelChatProvider(vendor, {
    provideLanguageModelChatInformation: () => [model],
    provideTokenCount: (_: unknown, text: unknown) => Math.ceil(String(text).length / 4),
    provideLanguageModelChatResponse: (
      _: unknown,
      messages: readonly vscode.LanguageModelChatMessage[],
      { tools = [] }: { tools?: readonly { name: string }[] },
      progress: vscode.Progress<vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart>,
    ) => {
      const parts = messages.flatMap(({ content }) => content);
      const name = parts.find((part) => part instanceof vscode.LanguageModelTextPart)?.value.trim() ?? '';
      const results = parts.filter((part) => part instanceof vscode.LanguageModelToolResultPart).map(textOf);
      const move = scripts[name]?.(
        results,
        tools.map((tool) => tool.name),
      ) ?? { say: `There is no script ${name}.` };
      progress.report(
        'say' in move
          ? new vscode.LanguageModelTextPart(move.say)
          : new vscode.LanguageModelToolCallPart(`call-${results.length}`, move.tool, move.input),
      );
      return Promise.resolve();
    },
  });
}

export const textOf = ({ content }: { content: readonly unknown[] }) =>
  content
    .filter((part) => part instanceof vscode.LanguageModelTextPart)
    .map(({ value }) => value)
    .join('');
