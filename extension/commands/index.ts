import * as vscode from 'vscode';
import { LimpetError } from '../../protocol/errors';
import type { Ctx } from '../context';
import { type CommandId, commandIds, viewIds, walkthroughId } from '../contributions';
import { examine, showFindings } from '../doctor';
import { messageOf } from '../message-of';
import { showSidecarLog } from '../sidecar-log';
import * as executions from './executions';
import * as reading from './reading';
import * as sessions from './sessions';
import { isFromCode } from './target';

type Handler = (ctx: Ctx, argument: unknown) => unknown;

/** Each takes what it needs from its argument, asks the person for what is missing, and answers with a result. */
const commands: Record<CommandId, Handler> = {
  [commandIds.newSession]: sessions.newSession,
  [commandIds.newSessionHere]: sessions.newSessionHere,
  [commandIds.renameSession]: sessions.renameSession,
  [commandIds.destroySession]: sessions.destroySession,
  [commandIds.destroyAllSessions]: sessions.destroyAllSessions,
  [commandIds.attachTerminal]: sessions.attachTerminal,
  [commandIds.runCommand]: executions.runCommand,
  [commandIds.runSelection]: executions.runSelection,
  [commandIds.runInBackground]: executions.runInBackground,
  [commandIds.rerunCommand]: executions.rerunCommand,
  [commandIds.stopCommand]: executions.stopCommand,
  [commandIds.killCommand]: executions.killCommand,
  [commandIds.sendInput]: executions.sendInput,
  [commandIds.showOutput]: reading.showOutput,
  [commandIds.copyCommand]: reading.copyCommand,
  [commandIds.copyOutput]: reading.copyOutput,
  [commandIds.openCommandLog]: reading.openCommandLog,
  [commandIds.showMore]: reading.showMore,
  [commandIds.showHistory]: reading.showHistory,
  [commandIds.clearHistory]: (ctx) => ctx.history.clear(),
  [commandIds.showLog]: showSidecarLog,
  [commandIds.restartSidecar]: (ctx) =>
    vscode.window.withProgress({ location: { viewId: viewIds.sessions } }, async () => {
      // What went wrong is reported once, for every way there is to get there.
      await ctx.supervisor.restart().catch(() => undefined);
    }),
  [commandIds.doctor]: async (ctx, argument) => {
    const findings = await examine(ctx);
    if (!isFromCode(argument)) await showFindings(findings);
    return findings;
  },
  [commandIds.openWalkthrough]: () =>
    vscode.commands.executeCommand('workbench.action.openWalkthrough', walkthroughId, false),
};

export function registerCommands(ctx: Ctx | { unsupported: string }): vscode.Disposable {
  const registered = Object.entries(commands).map(([id, handler]) =>
    vscode.commands.registerCommand(id, (argument: unknown) => {
      if (!('unsupported' in ctx)) return answer(ctx, handler, argument);
      return void vscode.window.showInformationMessage(ctx.unsupported);
    }),
  );
  return vscode.Disposable.from(...registered);
}

/** Code gets a failure to handle; a person gets one message with a way to the details. */
async function answer(ctx: Ctx, handler: Handler, argument: unknown): Promise<unknown> {
  try {
    return await handler(ctx, argument);
  } catch (thrown) {
    if (isFromCode(argument)) throw thrown;
    // Without a sidecar, that is what the message says already.
    if (ctx.supervisor.state.kind === 'failed') return undefined;
    const message = messageOf(thrown);
    ctx.log.error(thrown instanceof LimpetError ? `${thrown.code}: ${message}` : String(thrown));
    const showLog = vscode.l10n.t('Show Log');
    void vscode.window.showErrorMessage(message, showLog).then((chosen) => {
      if (chosen === showLog) ctx.log.show();
    });
    return undefined;
  }
}
