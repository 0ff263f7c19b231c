import * as vscode from 'vscode';
import type { CommandSnapshot, SessionInfo } from '../../protocol/values';
import type { Ctx } from '../context';
import { shownDirectory } from '../sessions/directory';
import { brief, byWhom } from '../sessions/words';
import { createSession } from './create-session';

/** What a command is about: a line of the view, or what code passes to `executeCommand`. */
export interface Target {
  kind?: string;
  sessionId?: string;
  commandId?: string;
}

/** Code says what it wants in an object of its own; the window passes lines of the view, addresses of files, or nothing. */
export function isFromCode(argument: unknown): argument is Record<string, unknown> {
  return (
    typeof argument === 'object' &&
    argument !== null &&
    Object.getPrototypeOf(argument) === Object.prototype &&
    !('kind' in argument)
  );
}

export function targetOf(argument: unknown): Target {
  return typeof argument === 'object' && argument !== null ? (argument as Target) : {};
}

/** The session meant; where nothing says which, the person chooses. Undefined when they think better of it. */
export async function sessionFor(
  ctx: Ctx,
  argument: unknown,
  purpose: 'use' | 'look',
): Promise<SessionInfo | undefined> {
  const { sessionId, commandId } = targetOf(argument);
  const meant = sessionId ?? commandId?.slice(0, commandId.lastIndexOf(':'));
  if (meant !== undefined) return (await ctx.connect()).request('session.info', { sessionId: meant });
  await ctx.model.listed();
  const sessions = ctx.model.sessions.sort((a, b) => b.lastActiveAt.localeCompare(a.lastActiveAt));
  const [only, another] = sessions;
  if (only === undefined) return purpose === 'use' ? createSession(ctx, {}) : nothingThere();
  return another === undefined ? only : chooseSession(ctx, sessions, purpose);
}

async function chooseSession(ctx: Ctx, sessions: SessionInfo[], purpose: 'use' | 'look') {
  const items: (vscode.QuickPickItem & { session?: SessionInfo })[] = sessions.map((session) => ({
    label: session.name,
    description: `${session.shell} · ${shownDirectory(session.cwd)}`,
    ...(session.runningCommand === undefined ? {} : { detail: `$ ${brief(session.runningCommand.command)}` }),
    iconPath: new vscode.ThemeIcon('terminal'),
    session,
  }));
  if (purpose === 'use') items.push({ label: vscode.l10n.t('New Session'), iconPath: new vscode.ThemeIcon('add') });
  const chosen = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Choose a session'),
    matchOnDescription: true,
  });
  if (chosen === undefined) return undefined;
  return chosen.session ?? createSession(ctx, {});
}

/** The command meant; where nothing says which, the only one that runs, or the person chooses. */
export async function commandFor(
  ctx: Ctx,
  argument: unknown,
  which: (command: CommandSnapshot) => boolean,
): Promise<CommandSnapshot | undefined> {
  const { sessionId, commandId } = targetOf(argument);
  await ctx.model.listed();
  if (commandId !== undefined) {
    const known = ctx.model.command(commandId);
    if (known !== undefined) return known;
    const { commands } = await (await ctx.connect()).request('exec.list', {});
    return commands.find((command) => command.commandId === commandId) ?? nothingThere();
  }
  const sessions = sessionId === undefined ? ctx.model.sessions.map((session) => session.sessionId) : [sessionId];
  const commands = sessions
    .flatMap((id) => ctx.model.commands(id))
    .filter(which)
    .reverse();
  if (commands.length <= 1) return commands[0] ?? nothingThere();
  const items = commands.slice(0, 200).map((command) => ({
    label: brief(command.command),
    description: [ctx.model.session(command.sessionId)?.name, byWhom(command.origin)]
      .filter((part) => part)
      .join(' · '),
    command,
  }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t('Choose a command') });
  return chosen?.command;
}

function nothingThere(): undefined {
  void vscode.window.showInformationMessage(vscode.l10n.t('There is nothing to choose from.'));
  return undefined;
}
