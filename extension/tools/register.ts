import * as vscode from 'vscode';
import { toolNames } from '../../protocol/tools/definitions';
import type { Ctx } from '../context';
import { announceMcp } from './mcp';
import { AgentTool, Toolboxes } from './tool';

/** What agents get: the tools for the editor's own, and an MCP server for others. */
export function registerAgentTools(ctx: Ctx, extension: vscode.ExtensionContext): vscode.Disposable {
  const toolboxes = new Toolboxes(ctx);
  return vscode.Disposable.from(
    ...toolNames.map((name) => vscode.lm.registerTool(name, new AgentTool(name, ctx, toolboxes))),
    announceMcp(extension),
  );
}
