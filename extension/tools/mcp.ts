import * as vscode from 'vscode';
import { settingsSection } from '../contributions';
import { announcesMcpServer } from '../settings';
import { folderFor } from './tool';

export const mcpProviderId = 'limpet.mcp';

/** Announces "limpet mcp" to an editor whose user wants it among the MCP servers. */
export function announceMcp(extension: vscode.ExtensionContext): vscode.Disposable {
  const program = extension.asAbsolutePath('dist/limpet.js');
  const version = String(extension.extension.packageJSON.version);
  const changed = new vscode.EventEmitter<void>();
  return vscode.Disposable.from(
    changed,
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(`${settingsSection}.announceMcpServer`)) changed.fire();
    }),
    vscode.lm.registerMcpServerDefinitionProvider(mcpProviderId, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => {
        if (!vscode.workspace.isTrusted || !announcesMcpServer()) return [];
        const args = [program, 'mcp', '--cwd', folderFor(undefined)];
        // The editor's own Node: there may be no other.
        return [new vscode.McpStdioServerDefinition('Limpet', process.execPath, args, environment(), version)];
      },
    }),
  );
}

function environment(): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && /^LIMPET_(RUNTIME|STATE)_DIR$/.test(entry[0]),
  );
  return { ELECTRON_RUN_AS_NODE: '1', ...Object.fromEntries(own) };
}
