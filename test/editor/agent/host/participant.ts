import * as vscode from 'vscode';
import type { Run } from '../commands';
import { bench } from './bench';
import { textOf, vendor } from './scripted-model';

export interface Call {
  tool: string;
  input: object;
  text: string;
  /** Milliseconds since 1970 when its result was there. */
  at: number;
}

/** A chat participant that does what agents do: asks its model, calls the tools it wants, and tells it the results. */
export function registerAgent(onDone: (done: Call[] | Run[]) => void): vscode.Disposable {
  return vscode.chat.createChatParticipant('limpet-test.agent', async (request, _, stream, token) => {
    const [what, detail] = request.prompt.trim().split(' ');
    if (what === 'bench') {
      onDone(await bench(Number(detail), request.toolInvocationToken));
      return;
    }
    if (what === 'announce') {
      const configuration = vscode.workspace.getConfiguration('limpet');
      await configuration.update('announceMcpServer', detail === 'on', vscode.ConfigurationTarget.Global);
      onDone([]);
      return;
    }
    const [model] = await vscode.lm.selectChatModels({ vendor });
    if (model === undefined) throw new Error('The scripted model is missing.');
    const messages = [vscode.LanguageModelChatMessage.User(request.prompt)];
    const calls: Call[] = [];
    const tools = vscode.lm.tools.filter(({ name }) => name.includes('limpet_'));
    for (;;) {
      const response = await model.sendRequest(messages, { tools: [...tools] }, token);
      const wanted: vscode.LanguageModelToolCallPart[] = [];
      for await (const part of response.stream) {
        if (part instanceof vscode.LanguageModelToolCallPart) wanted.push(part);
        else if (part instanceof vscode.LanguageModelTextPart) stream.markdown(part.value);
      }
      if (wanted.length === 0) break;
      for (const { callId, name, input } of wanted) {
        const text = await invoke(name, input, request.toolInvocationToken, token);
        calls.push({ tool: name, input, text, at: Date.now() });
        messages.push(
          vscode.LanguageModelChatMessage.Assistant([new vscode.LanguageModelToolCallPart(callId, name, input)]),
          vscode.LanguageModelChatMessage.User([
            new vscode.LanguageModelToolResultPart(callId, [new vscode.LanguageModelTextPart(text)]),
          ]),
        );
      }
    }
    onDone(calls);
  });
}

async function invoke(
  name: string,
  input: object,
  toolInvocationToken: vscode.ChatParticipantToolToken,
  token: vscode.CancellationToken,
): Promise<string> {
  try {
    return textOf(await vscode.lm.invokeTool(name, { input, toolInvocationToken }, token));
  } catch (thrown) {
    return `FAILED ${thrown}`;
  }
}
