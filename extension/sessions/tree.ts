import * as vscode from 'vscode';
import type { CommandSnapshot } from '../../protocol/values';
import { commandIds, openRowCommand, viewIds } from '../contributions';
import { shownDirectory } from './directory';
import type { SessionsModel } from './model';
import { type CommandNode, type MoreNode, pageOf, type SessionNode, type SessionsNode } from './nodes';
import { commandRow, type Row, sessionRow } from './rows';

const pageSize = 20;
/** Changes that come in a burst are shown together, and after the output of what has just been run. */
const refreshEveryMs = 200;
/** A click is told twice, as a selection and as a command. */
const sameClickMs = 400;

export class SessionsTree implements vscode.TreeDataProvider<SessionsNode>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<SessionsNode[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #sessions = new Map<string, SessionNode>();
  readonly #commands = new Map<string, CommandNode>();
  readonly #more = new Map<string, MoreNode>();
  readonly #pages = new Map<string, number>();
  readonly #stale = new Set<string>();
  readonly #stopping = new Set<string>();
  readonly #subscriptions: vscode.Disposable;
  #all = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly model: SessionsModel) {
    this.#subscriptions = vscode.Disposable.from(
      model.onDidList(() => this.#refresh()),
      model.onDidLoseSession(() => this.#refresh()),
      model.onDidChangeSession(({ sessionId }) => this.#refresh(sessionId)),
      model.onDidChangeCommand(({ sessionId }) => this.#refresh(sessionId)),
    );
  }

  getChildren(node?: SessionsNode): SessionsNode[] {
    if (node === undefined) return this.model.sessions.map(({ sessionId }) => this.sessionNode(sessionId));
    if (node.kind !== 'session') return [];
    const { sessionId } = node;
    const { shown, hidden } = pageOf(this.model.commands(sessionId), this.#pages.get(sessionId) ?? pageSize);
    const commands = shown.map(({ commandId }) => this.commandNode(sessionId, commandId));
    return hidden > 0 ? [...commands, made(this.#more, sessionId, () => ({ kind: 'more', sessionId }))] : commands;
  }

  getParent(node: SessionsNode): SessionsNode | undefined {
    return node.kind === 'session' ? undefined : this.sessionNode(node.sessionId);
  }

  getTreeItem(node: SessionsNode): vscode.TreeItem {
    switch (node.kind) {
      case 'session': {
        const session = this.model.session(node.sessionId);
        if (session === undefined) return new vscode.TreeItem(node.sessionId);
        const item = asItem(sessionRow(session, shownDirectory(session.cwd), Date.now()));
        item.collapsibleState = vscode.TreeItemCollapsibleState.Expanded;
        item.id = node.sessionId;
        return item;
      }
      case 'command': {
        const command = this.model.command(node.commandId);
        if (command === undefined) return new vscode.TreeItem(node.commandId);
        const item = asItem(commandRow(command, Date.now(), this.#stopping.has(node.commandId)));
        item.id = node.commandId;
        item.command = { command: openRowCommand, title: vscode.l10n.t('Show Output') };
        return item;
      }
      case 'more': {
        const item = new vscode.TreeItem(vscode.l10n.t('Show More'));
        item.id = `${node.sessionId} more`;
        item.iconPath = new vscode.ThemeIcon('ellipsis');
        item.command = { command: openRowCommand, title: vscode.l10n.t('Show More') };
        return item;
      }
    }
  }

  showMore(sessionId: string): void {
    this.#pages.set(sessionId, (this.#pages.get(sessionId) ?? pageSize) * 2);
    this.#refresh(sessionId);
  }

  /** Until it has stopped, its line offers to kill it. */
  showStopping({ sessionId, commandId }: CommandSnapshot, stopped: Promise<unknown>): void {
    this.#stopping.add(commandId);
    this.#refresh(sessionId);
    const end = () => {
      this.#stopping.delete(commandId);
      this.#refresh(sessionId);
    };
    stopped.then(end, end);
  }

  /** The lines that show a time that goes on. */
  refreshRunning(): void {
    const unfinished = this.model.unfinished.filter(({ state }) => state === 'running');
    if (unfinished.length === 0) return;
    const sessions = new Set(unfinished.filter(({ background }) => !background).map(({ sessionId }) => sessionId));
    const background = unfinished.filter(({ sessionId }) => !sessions.has(sessionId));
    this.#changed.fire([
      ...[...sessions].map((sessionId) => this.sessionNode(sessionId)),
      ...background.map(({ sessionId, commandId }) => this.commandNode(sessionId, commandId)),
    ]);
  }

  sessionNode(sessionId: string): SessionNode {
    return made(this.#sessions, sessionId, () => ({ kind: 'session', sessionId }));
  }

  commandNode(sessionId: string, commandId: string): CommandNode {
    return made(this.#commands, commandId, () => ({ kind: 'command', sessionId, commandId }));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscriptions.dispose();
    this.#changed.dispose();
  }

  #refresh(sessionId?: string): void {
    // The window can refresh only lines it has; a new session is the whole view's business.
    if (sessionId === undefined || !this.#sessions.has(sessionId)) this.#all = true;
    else this.#stale.add(sessionId);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#forgetGone();
      const nodes = this.#all ? undefined : [...this.#stale].map((stale) => this.sessionNode(stale));
      this.#all = false;
      this.#stale.clear();
      this.#changed.fire(nodes);
    }, refreshEveryMs);
  }

  #forgetGone(): void {
    for (const sessionId of this.#sessions.keys()) {
      if (this.model.session(sessionId) !== undefined) continue;
      for (const nodes of [this.#sessions, this.#more, this.#pages]) nodes.delete(sessionId);
    }
    for (const commandId of this.#commands.keys()) {
      if (this.model.command(commandId) === undefined) this.#commands.delete(commandId);
    }
  }
}

function made<N extends SessionsNode>(nodes: Map<string, N>, id: string, make: () => N): N {
  let node = nodes.get(id);
  if (node === undefined) {
    node = make();
    nodes.set(id, node);
  }
  return node;
}

function asItem(row: Row): vscode.TreeItem {
  const item = new vscode.TreeItem(row.label);
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = row.icon;
  item.contextValue = row.contextValue;
  item.accessibilityInformation = { label: row.spoken };
  return item;
}

/** Where there are no sidecars the view exists too, for what it says when it is empty. */
export function createEmptyView(): vscode.Disposable {
  const treeDataProvider: vscode.TreeDataProvider<never> = { getTreeItem: (node) => node, getChildren: () => [] };
  return vscode.window.createTreeView(viewIds.sessions, { treeDataProvider });
}

export function createSessionsView(model: SessionsModel, tree: SessionsTree): vscode.Disposable {
  const view = vscode.window.createTreeView(viewIds.sessions, { treeDataProvider: tree, showCollapseAll: true });
  let shown = -1;
  const showBadge = () => {
    const running = model.unfinished.length;
    if (running === shown) return;
    shown = running;
    const tooltip = running === 1 ? vscode.l10n.t('1 command running') : vscode.l10n.t('{0} commands running', running);
    view.badge = running === 0 ? undefined : { value: running, tooltip };
  };
  const tick = setInterval(() => {
    if (view.visible) tree.refreshRunning();
  }, 1000);
  let opened: { node: SessionsNode; at: number } | undefined;
  const open = (node: SessionsNode | undefined) => {
    if (node === undefined || (node === opened?.node && Date.now() - opened.at < sameClickMs)) return;
    opened = { node, at: Date.now() };
    if (node.kind === 'command') void vscode.commands.executeCommand(commandIds.showOutput, node);
    if (node.kind === 'more') tree.showMore(node.sessionId);
  };
  // A line's command has no arguments: they would be lost whenever it is refreshed, and a click in that moment with them.
  // So a click counts by the selection it makes; on a line that is selected already, by the command alone.
  // While a line is refreshed it cannot be named, and a busy machine takes its time for that.
  const openSelected = (attempts: number) => {
    setTimeout(() => {
      const [node] = view.selection;
      if (node === undefined && attempts > 1) openSelected(attempts - 1);
      else open(node);
    }, sameClickMs / 2);
  };
  const openRow = vscode.commands.registerCommand(openRowCommand, () => openSelected(10));
  return vscode.Disposable.from(
    view,
    openRow,
    view.onDidChangeSelection(({ selection }) => open(selection[0])),
    tree.onDidChangeTreeData(showBadge),
    new vscode.Disposable(() => clearInterval(tick)),
  );
}
