import * as vscode from 'vscode';
import type { Ctx } from '../context';
import { textOf } from '../output/text-of';
import { brief, byWhom, duration, ending } from '../sessions/words';
import { runForPerson } from './executions';
import { commandFor, isFromCode, sessionFor, targetOf } from './target';

const maxCopiedBytes = 10 * 1024 * 1024;

export async function showOutput(ctx: Ctx, argument: unknown) {
  const session = await sessionFor(ctx, argument, 'look');
  if (session === undefined) return undefined;
  ctx.channels.show(session.sessionId);
  return { sessionId: session.sessionId };
}

export async function copyCommand(ctx: Ctx, argument: unknown) {
  const command = await commandFor(ctx, argument, () => true);
  if (command === undefined) return undefined;
  await vscode.env.clipboard.writeText(command.command);
  return command.command;
}

/** Both streams in the order they came, without marks. */
export async function copyOutput(ctx: Ctx, argument: unknown) {
  const command = await commandFor(ctx, argument, () => true);
  if (command === undefined) return undefined;
  const { chunks, droppedBytes } = await (await ctx.connect()).request('exec.output', {
    commandId: command.commandId,
    maxBytes: maxCopiedBytes,
  });
  const text = chunks.map(textOf).join('');
  await vscode.env.clipboard.writeText(text);
  if (droppedBytes > 0 || text.length >= maxCopiedBytes) {
    void vscode.window.showInformationMessage(vscode.l10n.t('Only the first part was copied; Open Log has it all.'));
  }
  return text;
}

export async function openCommandLog(ctx: Ctx, argument: unknown) {
  const command = await commandFor(ctx, argument, () => true);
  if (command?.logPath === undefined) return undefined;
  const uri = vscode.Uri.file(command.logPath);
  await vscode.commands.executeCommand('vscode.open', uri, { preview: true });
  return command.logPath;
}

export function showMore(ctx: Ctx, argument: unknown) {
  const { sessionId } = targetOf(argument);
  if (sessionId !== undefined) ctx.tree.showMore(sessionId);
}

/** From code it answers with the entries; a person searches them and runs one again. */
export async function showHistory(ctx: Ctx, argument: unknown) {
  if (isFromCode(argument)) return ctx.history.entries;
  const items = ctx.history.entries.map((entry) => ({
    label: brief(entry.command),
    description: [ending({ ...entry }), duration(entry.durationMs), byWhom(entry.origin)]
      .filter((part) => part)
      .join(' · '),
    detail: `${new Date(entry.startedAt).toLocaleString()} · ${entry.sessionName} · ${entry.cwd}`,
    entry,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Search what ran here; choose a command to run it again'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen === undefined) return undefined;
  const session = await sessionFor(ctx, {}, 'use');
  return session && runForPerson(ctx, session, chosen.entry.command);
}
