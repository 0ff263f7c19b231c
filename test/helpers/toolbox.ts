import type { Cancellation } from '../../protocol/tools/client';
import { workspaceAt } from '../../protocol/tools/sessions';
import { Toolbox } from '../../protocol/tools/toolbox';
import { Sandbox } from './sidecar';

/** What differs from run to run, under names that do not. */
export function steady(text: string, sandbox: Sandbox): string {
  return text
    .replaceAll(sandbox.work, 'WORK')
    .replaceAll(sandbox.dir, 'DIR')
    .replaceAll(workspaceAt(sandbox.work).sessionName, 'WORKSPACE')
    .replace(/\bs-[0-9a-f]{8}\b/g, 'S')
    .replace(/\b(after|for) (\d+ h )?(\d+ min )?[\d.]+ (ms|s|min)\b/g, '$1 TIME')
    .replace(/\bProcess \d+\b/g, 'Process PID');
}

/** The tools over a sidecar of their own. */
export class ToolSandbox {
  private readonly sandbox = new Sandbox();
  private toolbox: Promise<Toolbox> | undefined;
  readonly work = this.sandbox.work;

  /** The answer's text; that of an error starts with "Error". */
  async call(name: string, input: object = {}, cancellation?: Cancellation): Promise<string> {
    this.toolbox ??= this.open();
    const toolbox = await this.toolbox;
    return steady((await toolbox.call(name, input, cancellation)).text, this.sandbox);
  }

  private async open(): Promise<Toolbox> {
    const client = await this.sandbox.connect();
    return new Toolbox({ client, workspace: workspaceAt(this.work), origin: 'an agent' });
  }

  run(command: string, input: object = {}): Promise<string> {
    return this.call('limpet_run_command', { command, ...input });
  }

  /** The real id of the command that an answer calls `S:number`. */
  async commandId(number: number, session = workspaceAt(this.work).sessionName): Promise<string> {
    const client = await this.sandbox.connect();
    const { sessions } = await client.request('session.list', {});
    return `${sessions.find(({ name }) => name === session)?.sessionId}:${number}`;
  }

  connect() {
    return this.sandbox.connect();
  }

  dispose(): Promise<void> {
    return this.sandbox.dispose();
  }
}
