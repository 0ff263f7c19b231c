import * as vscode from 'vscode';
import type { Ctx } from './context';
import { type CommandId, commandIds, viewIds } from './contributions';
import { showSidecarLog } from './sidecarLog';

type Handler = (...args: unknown[]) => unknown;

interface Command {
  enabled: (ctx: Ctx) => Handler;
  /** What it does where sidecars cannot run; without it, the user is told why. */
  disabled?: (reason: string) => Handler;
}

const commands: Record<CommandId, Command> = {
  [commandIds.showSidecarLog]: { enabled: (ctx) => () => showSidecarLog(ctx) },
  [commandIds.restartSidecar]: {
    enabled: (ctx) => () =>
      vscode.window.withProgress({ location: { viewId: viewIds.sessions } }, async () => {
        // What went wrong is reported once, for every way there is to get there.
        await ctx.supervisor.restart().catch(() => undefined);
      }),
  },
};

export function registerCommands(ctx: Ctx | { unsupported: string }): vscode.Disposable {
  const registered = Object.entries(commands).map(([id, command]) =>
    vscode.commands.registerCommand(
      id,
      'unsupported' in ctx ? disabledHandler(command, ctx.unsupported) : command.enabled(ctx),
    ),
  );
  return vscode.Disposable.from(...registered);
}

function disabledHandler(command: Command, reason: string): Handler {
  return command.disabled?.(reason) ?? (() => void vscode.window.showInformationMessage(reason));
}
