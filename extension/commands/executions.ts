import * as vscode from 'vscode';
import { failure, LimpetError } from '../../protocol/errors';
import { execRunParams, execStartParams } from '../../protocol/methods';
import { type CommandSnapshot, type SessionInfo, signalName } from '../../protocol/values';
import type { Ctx } from '../context';
import { brief, noInput } from '../sessions/words';
import { reveal } from '../settings';
import { createSession } from './create-session';
import { commandFor, isFromCode, sessionFor, targetOf } from './target';

/** What a person sees of a result is in the output; nobody needs it whole a second time. */
const keptForPerson = 64 * 1024;
const killOfferedAfterMs = 250;
const sessionForCode = 'agent';

/** From code: `{ command, sessionId?, timeoutMs?, cwd?, env?, stdin?, … }`, answered with the whole result. */
export async function runCommand(ctx: Ctx, argument: unknown) {
  if (isFromCode(argument)) {
    const sessionId = argument.sessionId ?? (await ownSession(ctx)).sessionId;
    const params = execRunParams.parse({ ...argument, sessionId });
    return (await ctx.connect()).request('exec.run', params);
  }
  const session = await sessionFor(ctx, argument, 'use');
  if (session === undefined) return undefined;
  // While the person types, so that the output need not wait for a terminal.
  const prepared = reveal() === 'terminal' ? ctx.terminals.prepare(session) : undefined;
  const command = await askForCommand(vscode.l10n.t('Run Command in {0}', session.name));
  if (command !== undefined) return runForPerson(ctx, session, command);
  prepared?.dispose();
  return undefined;
}

/** From code: `{ command, sessionId?, keepStdinOpen?, … }`, answered with its id at once. */
export async function runInBackground(ctx: Ctx, argument: unknown) {
  if (isFromCode(argument)) {
    const sessionId = argument.sessionId ?? (await ownSession(ctx)).sessionId;
    const params = execStartParams.parse({ ...argument, sessionId, background: true });
    return (await ctx.connect()).request('exec.start', params);
  }
  const session = await sessionFor(ctx, argument, 'use');
  if (session === undefined) return undefined;
  const command = await askForCommand(vscode.l10n.t('Run Command in Background in {0}', session.name));
  return command === undefined ? undefined : startForPerson(ctx, session, command);
}

export async function runSelection(ctx: Ctx, argument: unknown) {
  const editor = vscode.window.activeTextEditor;
  const given = isFromCode(argument) && typeof argument.text === 'string' ? argument.text : undefined;
  const text = given ?? (editor === undefined ? '' : selectedText(editor));
  if (text.trim() === '') {
    void vscode.window.showInformationMessage(vscode.l10n.t('Select a command in an editor first.'));
    return undefined;
  }
  const session = await sessionFor(ctx, argument, 'use');
  return session && runForPerson(ctx, session, text);
}

/** The selection, or the whole line where nothing is selected. */
function selectedText({ document, selection }: vscode.TextEditor): string {
  return selection.isEmpty ? document.lineAt(selection.active.line).text : document.getText(selection);
}

export async function rerunCommand(ctx: Ctx, argument: unknown) {
  const command = await commandFor(ctx, argument, () => true);
  if (command === undefined) return undefined;
  const session = await sessionFor(ctx, { sessionId: command.sessionId }, 'use');
  if (session === undefined) return undefined;
  return command.background
    ? startForPerson(ctx, session, command.command)
    : runForPerson(ctx, session, command.command);
}

export async function runForPerson(ctx: Ctx, session: SessionInfo, command: string) {
  const { sessionId } = session;
  // First, since the window takes longer to show a panel than the shell to answer.
  revealSession(ctx, session);
  const client = await ctx.connect();
  return client.request('exec.run', { sessionId, command, origin: 'person', maxOutputBytes: keptForPerson });
}

async function startForPerson(ctx: Ctx, session: SessionInfo, command: string) {
  const { sessionId } = session;
  const client = await ctx.connect();
  const started = client.request('exec.start', { sessionId, command, background: true, origin: 'person' });
  // A terminal shows what runs in front; the output shows it all.
  if (reveal() !== 'never') ctx.channels.show(sessionId);
  return started;
}

function revealSession(ctx: Ctx, session: SessionInfo): void {
  const where = reveal();
  if (where === 'output') ctx.channels.show(session.sessionId);
  if (where === 'terminal') ctx.terminals.attach(session, true);
}

/** `showInputBox` answers only when its box is closed; this way the command runs while that happens. */
function askForCommand(title: string): Promise<string | undefined> {
  const input = vscode.window.createInputBox();
  input.title = title;
  input.placeholder = vscode.l10n.t('A shell command, for example: npm test');
  input.ignoreFocusOut = true;
  return new Promise((resolve) => {
    input.onDidAccept(() => {
      resolve(input.value.trim() === '' ? undefined : input.value);
      setImmediate(() => input.dispose());
    });
    input.onDidHide(() => {
      resolve(undefined);
      input.dispose();
    });
    input.show();
  });
}

/** Code that names no session shares one that is nobody else's. */
async function ownSession(ctx: Ctx): Promise<SessionInfo> {
  await ctx.model.listed();
  const known = ctx.model.sessions.find(({ name }) => name === sessionForCode);
  return known ?? createSession(ctx, { name: sessionForCode });
}

/** Interrupts, as Ctrl-C would; what takes its time can then be killed in the view. */
export async function stopCommand(ctx: Ctx, argument: unknown) {
  const command = await commandFor(ctx, argument, isUnfinished);
  if (command === undefined) return undefined;
  const { commandId } = command;
  const client = await ctx.connect();
  if (isFromCode(argument)) {
    const signal = signalName.optional().parse(argument.signal);
    return client.request('exec.cancel', { commandId, ...(signal === undefined ? {} : { signal }) });
  }
  const stopping = client.request('exec.cancel', { commandId });
  const offer = setTimeout(() => ctx.tree.showStopping(command, stopping), killOfferedAfterMs);
  try {
    return await stopping;
  } finally {
    clearTimeout(offer);
  }
}

export async function killCommand(ctx: Ctx, argument: unknown) {
  const { commandId } = targetOf(argument);
  const command = await commandFor(ctx, commandId === undefined ? argument : { commandId }, isUnfinished);
  if (command === undefined) return undefined;
  return (await ctx.connect()).request('exec.cancel', { commandId: command.commandId, signal: 'SIGKILL' });
}

/** From code: `{ commandId, data?, eof? }`. */
export async function sendInput(ctx: Ctx, argument: unknown) {
  const client = await ctx.connect();
  if (isFromCode(argument)) {
    const { commandId, data, eof } = argument;
    if (typeof commandId !== 'string') throw failure.invalidParams('commandId: name the command that gets the input.');
    return client.request('exec.input', {
      commandId,
      ...(data === undefined ? {} : { data: String(data) }),
      ...(eof === undefined ? {} : { eof: eof === true }),
    });
  }
  const command = await commandFor(ctx, argument, isUnfinished);
  if (command === undefined) return undefined;
  const line = await vscode.window.showInputBox({
    title: vscode.l10n.t('Send Input to {0}', brief(command.command, 40)),
    placeHolder: vscode.l10n.t('One line; it is sent with its end of line'),
  });
  if (line === undefined) return undefined;
  return client.request('exec.input', { commandId: command.commandId, data: `${line}\n` }).catch(inWordsForPerson);
}

/** How the command would have to be started is of use to code only. */
function inWordsForPerson(thrown: unknown): never {
  if (thrown instanceof LimpetError && thrown.code === 'not_supported') throw failure.notSupported(noInput());
  throw thrown;
}

const isUnfinished = ({ state }: CommandSnapshot) => state !== 'finished';
