import { failure, LimpetError } from '../errors';
import type { Params, Result } from '../methods';
import type { WaitCondition } from '../values';
import type { Cancellation, ToolClient } from './client';
import { conditionsOf, metIn } from './conditions';
import {
  defaultMaxTokens,
  defaultYieldMs,
  inputSchema,
  isToolName,
  type ToolInput,
  type ToolName,
  tools,
} from './definitions';
import { listing } from './listing';
import { type Printed, rawPerShown, readOn, showOutput } from './output';
import { decodeBytes } from './plain-text';
import { invalidInput, problem } from './problems';
import { ending, lastLines, leftOut, lost, written } from './reading';
import { identity, nextSteps, outcome, paragraphs, type Reported, remarks, streams, toolCall } from './report';
import { ToolSessions, type Workspace } from './sessions';

const charactersPerToken = 4;
/** A server that fails to start usually does so at once. */
const backgroundGraceMs = 100;
const answerSilenceMs = 300;
const settleMs = 50;
const defaultAnswerMs = 5000;

export interface ToolboxOptions {
  client: ToolClient;
  workspace: Workspace;
  /** Who runs the commands, as people see it. */
  origin: string;
  /** How sessions begin that are made on the way, where the call says nothing else. */
  sessionDefaults?: () => Params<'session.create'>;
}

export interface ToolAnswer {
  text: string;
  isError: boolean;
}

type Handlers = { [N in ToolName]: (input: ToolInput<N>, cancellation?: Cancellation) => Promise<string> };

/** The tools at work: each call is answered with text for a model. */
export class Toolbox {
  readonly sessions: ToolSessions;
  private readonly client: ToolClient;
  private readonly handlers: Handlers = {
    limpet_run_command: (input, cancellation) => this.runCommand(input, cancellation),
    limpet_wait_for_command: (input) => this.waitForCommand(input),
    limpet_read_output: (input) => this.readOutput(input),
    limpet_send_input: (input) => this.sendInput(input),
    limpet_stop_command: (input) => this.stopCommand(input),
    limpet_list_sessions: () => this.listSessions(),
    limpet_create_session: (input) => this.createSession(input),
    limpet_destroy_session: (input) => this.destroySession(input),
  };

  constructor(private readonly options: ToolboxOptions) {
    this.client = options.client;
    this.sessions = new ToolSessions(options.client, options.workspace, options.sessionDefaults);
  }

  /** Failures are answers too; only bugs are thrown. */
  async call(name: string, input: unknown, cancellation?: Cancellation): Promise<ToolAnswer> {
    try {
      if (!isToolName(name)) throw failure.invalidParams(`There is no tool ${JSON.stringify(name)}.`);
      const parsed = tools[name].input.safeParse(input ?? {});
      if (!parsed.success) throw invalidInput(parsed.error, inputSchema(name));
      const handle = this.handlers[name] as (input: unknown, cancellation?: Cancellation) => Promise<string>;
      return { text: await handle(parsed.data, cancellation), isError: false };
    } catch (thrown) {
      if (!(thrown instanceof LimpetError)) throw thrown;
      return { text: problem(thrown), isError: true };
    }
  }

  private async runCommand(input: ToolInput<'limpet_run_command'>, cancellation?: Cancellation): Promise<string> {
    const { command, session, cwd, env, stdin, interactive = false, background = false, timeoutMs, maxTokens } = input;
    const { sessionId } = await this.sessions.findOrCreate(session);
    const { commandId } = await this.client.request('exec.start', {
      sessionId,
      command,
      origin: this.options.origin,
      background,
      keepStdinOpen: interactive || stdin !== undefined,
      maxOutputBytes: budgetOf(maxTokens) * rawPerShown,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    const cancelling = cancellation?.onCancel(() => {
      // One that has just finished needs no cancelling.
      this.client.request('exec.cancel', { commandId }).catch(() => undefined);
    });
    try {
      if (stdin !== undefined) await this.give(commandId, stdin, !interactive);
      const until = conditionsOf({ ...input.waitFor, input: interactive });
      const waits = !background || input.waitFor !== undefined;
      const waitMs = waits ? (input.yieldMs ?? defaultYieldMs) : backgroundGraceMs;
      return await this.waitAndReport(commandId, until, waitMs, maxTokens, input.waitFor !== undefined);
    } finally {
      cancelling?.dispose();
    }
  }

  private async give(commandId: string, data: string, eof: boolean): Promise<void> {
    try {
      await this.client.request('exec.input', { commandId, data, eof });
    } catch (thrown) {
      // It may end without reading all of it.
      if (!(thrown instanceof LimpetError) || thrown.code !== 'command_finished') throw thrown;
    }
  }

  private waitForCommand({
    commandId,
    until,
    timeoutMs = defaultYieldMs,
    maxTokens,
  }: ToolInput<'limpet_wait_for_command'>) {
    return this.waitAndReport(commandId, conditionsOf({ ...until }), timeoutMs, maxTokens, until !== undefined);
  }

  private async waitAndReport(
    commandId: string,
    until: WaitCondition[],
    timeoutMs: number,
    maxTokens: number | undefined,
    tellsCondition: boolean,
  ): Promise<string> {
    const budget = budgetOf(maxTokens);
    const answer = await this.waitUntil(commandId, until, timeoutMs);
    return this.report(answer, budget, tellsCondition ? metIn(answer.met) : '');
  }

  private async waitUntil(commandId: string, until: WaitCondition[], timeoutMs: number): Promise<Result<'exec.wait'>> {
    const answer = await this.client.request('exec.wait', { commandId, until, timeoutMs });
    if (answer.met !== 'input') return answer;
    // What it printed before it asked may still be on its way.
    const settled = await this.client.request('exec.wait', {
      commandId,
      until: [{ silenceMs: settleMs }],
      timeoutMs: 10 * settleMs,
    });
    if (settled.state === 'finished') return settled;
    // A shell that reads has no process of its own to look at; the wait knows better.
    const evidence = settled.activity?.evidence ?? '';
    return { ...settled, met: 'input', activity: { kind: 'waiting_for_input', evidence } };
  }

  private async report(command: Reported, budget: number, condition = ''): Promise<string> {
    const isFinished = command.state === 'finished';
    const session = await this.sessionOf(command);
    const shown = await showOutput(this.client, printedBy(command), budget);
    const ahead = command.state === 'queued' ? await this.runningIn(command.sessionId) : undefined;
    return paragraphs(
      `${[outcome(command, ahead), condition].filter((part) => part !== '').join(' ')}\n${identity(command, session)}`,
      streams(shown, command.commandId, isFinished),
      isFinished ? remarks(command).join('\n') : nextSteps(command, ahead),
    );
  }

  private async runningIn(sessionId: string): Promise<Reported | undefined> {
    const { commands } = await this.client.request('exec.list', { sessionId, runningOnly: true });
    return commands.find(({ state, background }) => state === 'running' && !background);
  }

  private async sessionOf({ sessionId, cwd = 'an unknown directory' }: Reported) {
    const gone = { name: sessionId, cwd };
    return (await this.sessions.lookUp(sessionId)) ?? gone;
  }

  private async readOutput(input: ToolInput<'limpet_read_output'>): Promise<string> {
    const { commandId, stream = 'both', cursor, tailLines, grep } = input;
    const room = budgetOf(input.maxTokens);
    if (grep === undefined && tailLines === undefined) {
      const read = await readOn(this.client, { commandId, stream, cursor, room });
      return paragraphs(
        lost(read.droppedBytes),
        written(read.pieces, stream),
        ending(commandId, stream, read.cursor, read.atEnd, read.finished),
      );
    }
    const { chunks, nextSeq, droppedBytes, finished } = await this.client.request('exec.output', {
      commandId,
      stream,
      maxBytes: room,
      ...(cursor === undefined ? {} : { fromSeq: Number(cursor.split('.')[0]) }),
      ...(tailLines === undefined ? {} : { tailLines }),
      ...(grep === undefined ? {} : { grep }),
    });
    const pieces = chunks.map(({ stream: name, data, encoding }) => ({
      stream: name,
      text: decodeBytes(data, encoding),
    }));
    const asked = tailLines === undefined ? pieces : lastLines(pieces, tailLines);
    const none = grep === undefined ? 'There is no output yet.' : 'No line matches.';
    return paragraphs(
      asked.length > 0 ? written(asked, stream) : droppedBytes > 0 ? '' : none,
      leftOut(droppedBytes, grep !== undefined),
      ending(commandId, stream, String(nextSeq), true, finished),
    );
  }

  private async sendInput(input: ToolInput<'limpet_send_input'>): Promise<string> {
    const { commandId, text, eof = false, waitMs = defaultAnswerMs } = input;
    const budget = budgetOf(input.maxTokens);
    const before = await this.client.request('exec.output', { commandId, tailLines: 0 });
    await this.client.request('exec.input', { commandId, eof, ...(text === undefined ? {} : { data: text }) });
    const until: WaitCondition[] = [{ silenceMs: answerSilenceMs }, ...(eof ? [] : [{ input: true as const }])];
    const answer = await this.waitUntil(commandId, until, waitMs);
    const cursor = String(before.nextSeq);
    const read = await readOn(this.client, { commandId, stream: 'both', cursor, room: budget });
    const session = await this.sessionOf(answer);
    return paragraphs(
      `${outcome(answer)}\n${identity(answer, session)}`,
      read.pieces.length === 0
        ? 'It has printed nothing since.'
        : `Since then it printed:\n\n${written(read.pieces, 'both')}`,
      read.atEnd ? '' : `To read on: ${toolCall('limpet_read_output', { commandId, cursor: read.cursor })}`,
      answer.state === 'finished' ? remarks(answer).join('\n') : nextSteps(answer),
    );
  }

  private async stopCommand({ commandId, signal }: ToolInput<'limpet_stop_command'>): Promise<string> {
    const { outcome: ended } = await this.client.request('exec.cancel', {
      commandId,
      ...(signal === undefined ? {} : { signal }),
    });
    if (ended === null) return `${signal ?? 'The signal'} was sent. Command ${commandId} goes on.`;
    return this.waitAndReport(commandId, [{ exit: true }], defaultYieldMs, undefined, false);
  }

  private async listSessions(): Promise<string> {
    const { sessions } = await this.client.request('session.list', {});
    const { commands } = await this.client.request('exec.list', {});
    return listing(sessions, commands, this.options.workspace.sessionName);
  }

  private async createSession(input: ToolInput<'limpet_create_session'>): Promise<string> {
    const { name, cwd, shell, env, loadUserProfile } = input;
    if (name !== undefined && (await this.sessions.lookUp(name)) !== undefined) {
      throw failure.invalidParams(
        `There is already a session ${JSON.stringify(name)}. Use it, or choose another name.`,
      );
    }
    const made = await this.sessions.create({
      ...(loadUserProfile === undefined ? {} : { profile: loadUserProfile ? 'user' : 'clean' }),
      ...(name === undefined ? {} : { name }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(shell === undefined ? {} : { shell }),
      ...(env === undefined ? {} : { env }),
    });
    return paragraphs(`Session ${made.name} is ready: ${made.shell}, in ${made.cwd}.`, made.notes.join('\n'));
  }

  private async destroySession({ session }: ToolInput<'limpet_destroy_session'>): Promise<string> {
    const { sessionId, name } = await this.sessions.find(session);
    await this.client.request('session.destroy', { sessionId });
    return `Session ${name} is gone, with everything it ran.`;
  }
}

const budgetOf = (maxTokens = defaultMaxTokens) => maxTokens * charactersPerToken;

function printedBy(command: Reported): Printed {
  const { commandId, stdoutBytes, stderrBytes, truncated, stdout, stderr, encoding } = command;
  const whole = (text: string | undefined, isCut = true, kind?: 'utf8' | 'base64') =>
    text === undefined || isCut ? undefined : decodeBytes(text, kind);
  return {
    commandId,
    stdoutBytes,
    stderrBytes,
    stdout: whole(stdout, truncated?.stdout, encoding?.stdout),
    stderr: whole(stderr, truncated?.stderr, encoding?.stderr),
  };
}
