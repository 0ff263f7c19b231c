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
  /** Those nobody has seen yet. */
  readonly #hidden = new Set<vscode.Terminal>();
  readonly #subscription: vscode.Disposable;

  constructor(
    private readonly model: SessionsModel,
    private readonly history: History,
    private readonly connect: () => Promise<SidecarClient>,
  ) {
    // One opened from VS Code's list of profiles is made by the window, and is the session's terminal all the same.
    this.#subscription = vscode.window.onDidOpenTerminal((terminal) => {
      const { creationOptions } = terminal;
      const pty = 'pty' in creationOptions ? creationOptions.pty : undefined;
      if (pty instanceof AttachedTerminal && !this.#terminals.has(pty.sessionId)) {
        this.#terminals.set(pty.sessionId, terminal);
      }
    });
  }

  attach(session: SessionInfo, preserveFocus = false): void {
    const terminal = this.#terminals.get(session.sessionId) ?? this.#create(session, { preserveFocus });
    this.#hidden.delete(terminal);
    terminal.show(preserveFocus);
  }

  /** Makes a terminal that nobody sees yet, so that what is about to run shows at once; to be disposed if nothing runs. */
  prepare(session: SessionInfo): vscode.Disposable {
    if (this.#terminals.has(session.sessionId)) return new vscode.Disposable(() => {});
    const terminal = this.#create(session, 'hidden');
    this.#hidden.add(terminal);
    return new vscode.Disposable(() => {
      if (this.#hidden.delete(terminal)) terminal.dispose();
    });
  }

  /** Offers a session wherever VS Code lists kinds of terminals. */
  contributeProfile(newSession: () => Promise<SessionInfo>): vscode.Disposable {
    return vscode.window.registerTerminalProfileProvider(terminalProfileId, {
      provideTerminalProfile: async () => {
        const session = await newSession();
        return new vscode.TerminalProfile(this.#optionsFor(session, () => this.#showAgain(session, false)));
      },
    });
  }

  dispose(): void {
    this.#subscription.dispose();
    for (const terminal of this.#terminals.values()) terminal.dispose();
    this.#terminals.clear();
  }

  #create(session: SessionInfo, how: 'hidden' | { preserveFocus: boolean }): vscode.Terminal {
    const { sessionId } = session;
    const options =
      how === 'hidden'
        ? { ...this.#optionsFor(session), hideFromUser: true }
        : this.#optionsFor(session, () => this.#showAgain(session, how.preserveFocus));
    const terminal = vscode.window.createTerminal(options);
    this.#terminals.set(sessionId, terminal);
    return terminal;
  }

  /** Once it is there: an empty panel opens a terminal of its own meanwhile, and shows that. */
  #showAgain({ sessionId }: SessionInfo, preserveFocus: boolean): void {
    this.#terminals.get(sessionId)?.show(preserveFocus);
  }

  #optionsFor(session: SessionInfo, onDidOpen: () => void = () => {}): vscode.ExtensionTerminalOptions {
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
}
