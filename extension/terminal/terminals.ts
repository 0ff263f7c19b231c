import * as vscode from 'vscode';
import type { SidecarClient } from '../../client/client';
import type { SessionInfo } from '../../protocol/values';
import { terminalProfileId } from '../contributions';
import type { History } from '../history';
import type { SessionsModel } from '../sessions/model';
import { AttachedTerminal } from './attached-terminal';

/** One terminal for each session that a person attached to. */
export class Terminals implements vscode.Disposable {
  readonly #terminals = new Map<string, vscode.Terminal>();

  constructor(
    private readonly model: SessionsModel,
    private readonly history: History,
    private readonly connect: () => Promise<SidecarClient>,
  ) {}

  attach(session: SessionInfo, preserveFocus = false): vscode.Terminal {
    let terminal = this.#terminals.get(session.sessionId);
    if (terminal === undefined) {
      terminal = vscode.window.createTerminal(
        // Once more when it is there: an empty panel opens a terminal of its own meanwhile, and shows that.
        this.optionsFor(session, () => this.#terminals.get(session.sessionId)?.show(preserveFocus)),
      );
      this.#terminals.set(session.sessionId, terminal);
    }
    terminal.show(preserveFocus);
    return terminal;
  }

  optionsFor(session: SessionInfo, onDidOpen: () => void = () => {}): vscode.ExtensionTerminalOptions {
    const pty = new AttachedTerminal({
      sessionId: session.sessionId,
      model: this.model,
      connect: this.connect,
      history: () => [...new Set(this.history.entries.map(({ command }) => command))],
      onDidOpen,
      onDidClose: () => this.#terminals.delete(session.sessionId),
    });
    return { name: session.name, pty, iconPath: new vscode.ThemeIcon('terminal') };
  }

  /** Offers a session wherever VS Code lists kinds of terminals. */
  contributeProfile(newSession: () => Promise<SessionInfo>): vscode.Disposable {
    return vscode.window.registerTerminalProfileProvider(terminalProfileId, {
      provideTerminalProfile: async () => new vscode.TerminalProfile(this.optionsFor(await newSession())),
    });
  }

  dispose(): void {
    for (const terminal of this.#terminals.values()) terminal.dispose();
    this.#terminals.clear();
  }
}
