import * as vscode from 'vscode';
import { commands, editorAlone, type Run, timed } from '../commands';
import { textOf } from './scripted-model';

const patienceMs = 20_000;
let terminal: vscode.Terminal | undefined;

type Way = (command: string, token: vscode.CancellationToken) => Promise<string>;

/** Runs the same commands in three ways, one after the other. */
export async function bench(repetitions: number, toolInvocationToken: vscode.ChatParticipantToolToken): Promise<Run[]> {
  const call =
    (name: string, inputOf: (command: string) => object): Way =>
    async (command, token) =>
      textOf(await vscode.lm.invokeTool(name, { input: inputOf(command), toolInvocationToken }, token));
  const ways: Record<string, Way> = {
    limpet_run_command: call('limpet_run_command', (command) => ({ command })),
    run_in_terminal: call('run_in_terminal', (command) => ({
      command,
      explanation: 'Runs a command',
      goal: 'Run a command',
      isBackground: false,
      mode: 'sync',
      timeout: 0,
    })),
    'shell integration': inTerminal,
  };
  const runs: Run[] = [];
  // What the editor itself takes for a call, whatever the tool; side by side with ours, because it takes longer in a long chat.
  const idle = call('limpet_list_sessions', () => ({}));
  for (const [way, run] of Object.entries(ways)) {
    for (let at = 0; at < repetitions; at++) {
      if (way === 'limpet_run_command') runs.push({ way: editorAlone, command: timed, ...(await once(idle, timed)) });
      runs.push({ way, command: timed, ...(await once(run, timed)) });
    }
    for (const command of commands) runs.push({ way, command, ...(await once(run, command)) });
  }
  return runs;
}

async function once(run: Way, command: string) {
  const giveUp = new vscode.CancellationTokenSource();
  const from = Date.now();
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patienceMs);
  });
  const answer = await Promise.race([run(command, giveUp.token).catch((thrown) => `FAILED ${thrown}`), patience]);
  clearTimeout(timer);
  const to = Date.now();
  if (answer === undefined) {
    giveUp.cancel();
    // The next command must not wait behind this one.
    terminal?.dispose();
    terminal = undefined;
  }
  return { text: answer ?? '', from, to, hung: answer === undefined };
}

/** As an extension without a tool of its own would do it. */
async function inTerminal(command: string): Promise<string> {
  if (terminal === undefined || terminal.exitStatus !== undefined) {
    terminal = vscode.window.createTerminal({ name: 'bench', shellPath: '/bin/bash' });
  }
  const shell = terminal.shellIntegration ?? (await integrationOf(terminal));
  const execution = shell.executeCommand(command);
  const ended = new Promise<number | undefined>((resolve) => {
    const subscription = vscode.window.onDidEndTerminalShellExecution((event) => {
      if (event.execution !== execution) return;
      subscription.dispose();
      resolve(event.exitCode);
    });
  });
  let text = '';
  for await (const data of execution.read()) text += data;
  return `exit code ${await ended}\n${text}`;
}

function integrationOf(of: vscode.Terminal): Promise<vscode.TerminalShellIntegration> {
  return new Promise((resolve) => {
    const subscription = vscode.window.onDidChangeTerminalShellIntegration((event) => {
      if (event.terminal !== of) return;
      subscription.dispose();
      resolve(event.shellIntegration);
    });
  });
}
