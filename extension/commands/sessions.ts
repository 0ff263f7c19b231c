import { dirname } from 'node:path';
import * as vscode from 'vscode';
import type { Params } from '../../protocol/methods';
import type { Ctx } from '../context';
import { viewIds } from '../contributions';
import { createSession } from './create-session';
import { isFromCode, sessionFor, targetOf } from './target';

export async function newSession(ctx: Ctx, argument: unknown) {
  const session = await createSession(ctx, isFromCode(argument) ? (argument as Params<'session.create'>) : {});
  if (!isFromCode(argument)) await vscode.commands.executeCommand(`${viewIds.sessions}.focus`);
  return session;
}

/** Beside a session of the view, or in the folder of a file. */
export async function newSessionHere(ctx: Ctx, argument: unknown) {
  const { sessionId } = targetOf(argument);
  const cwd = argument instanceof vscode.Uri ? await folderOf(argument) : ctx.model.session(sessionId ?? '')?.cwd;
  return createSession(ctx, cwd === undefined ? {} : { cwd });
}

async function folderOf(uri: vscode.Uri): Promise<string> {
  const { type } = await vscode.workspace.fs.stat(uri);
  return (type & vscode.FileType.Directory) !== 0 ? uri.fsPath : dirname(uri.fsPath);
}

export async function renameSession(ctx: Ctx, argument: unknown) {
  const session = await sessionFor(ctx, argument, 'look');
  if (session === undefined) return undefined;
  const given = isFromCode(argument) ? String(argument.name ?? '') : undefined;
  const name =
    given ?? (await vscode.window.showInputBox({ title: vscode.l10n.t('Rename Session'), value: session.name }));
  if (name === undefined || name.trim() === '') return undefined;
  const client = await ctx.connect();
  return client.request('session.rename', { sessionId: session.sessionId, name: name.trim() });
}

export async function destroySession(ctx: Ctx, argument: unknown) {
  const session = await sessionFor(ctx, argument, 'look');
  if (session === undefined) return undefined;
  const running = ctx.model.commands(session.sessionId).filter(({ state }) => state !== 'finished').length;
  if (!isFromCode(argument) && running > 0) {
    const question = vscode.l10n.t('Destroy "{0}" and end what runs in it ({1})?', session.name, running);
    if (!(await confirmed(question))) return undefined;
  }
  await (await ctx.connect()).request('session.destroy', { sessionId: session.sessionId });
  return { sessionId: session.sessionId };
}

export async function destroyAllSessions(ctx: Ctx, argument: unknown) {
  await ctx.model.listed();
  const { sessions } = ctx.model;
  const question = vscode.l10n.t('Destroy all {0} sessions and end what runs in them?', sessions.length);
  if (!isFromCode(argument) && sessions.length > 0 && !(await confirmed(question))) return undefined;
  const client = await ctx.connect();
  await Promise.all(sessions.map(({ sessionId }) => client.request('session.destroy', { sessionId })));
  return { destroyed: sessions.length };
}

async function confirmed(question: string): Promise<boolean> {
  const destroy = vscode.l10n.t('Destroy');
  return (await vscode.window.showWarningMessage(question, { modal: true }, destroy)) === destroy;
}

export async function attachTerminal(ctx: Ctx, argument: unknown) {
  const session = await sessionFor(ctx, argument, 'use');
  if (session === undefined) return undefined;
  ctx.terminals.attach(session);
  return { sessionId: session.sessionId };
}
