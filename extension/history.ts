import * as vscode from 'vscode';
import type { CommandSnapshot } from '../protocol/values';
import { RecentIds } from './recent-ids';
import type { SessionsModel } from './sessions/model';

export interface HistoryEntry {
  commandId: string;
  command: string;
  sessionName: string;
  cwd: string;
  origin: string;
  startedAt: string;
  durationMs: number;
  outcome: CommandSnapshot['outcome'];
  exitCode: number | null;
  signal: string | null;
}

const key = 'history';
const maxEntries = 1000;
const maxCommandChars = 10_000;
const saveAfterMs = 250;

/** What ran, when, by whom and how it ended: kept for the workspace, over reloads and sidecars. */
export class History implements vscode.Disposable {
  #entries: HistoryEntry[];
  readonly #known: RecentIds;
  readonly #subscriptions: vscode.Disposable;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly model: SessionsModel,
    private readonly memento: vscode.Memento,
  ) {
    this.#entries = memento.get<HistoryEntry[]>(key, []);
    this.#known = new RecentIds(this.#entries.map(identity));
    this.#subscriptions = vscode.Disposable.from(
      model.onDidChangeCommand((command) => this.#add(command)),
      // What finished while no window looked.
      model.onDidList(() => {
        for (const { sessionId } of model.sessions) for (const command of model.commands(sessionId)) this.#add(command);
      }),
    );
  }

  /** Newest first. */
  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  async clear(): Promise<void> {
    // Still known, or the next list would bring them back.
    this.#entries = [];
    await this.#save();
  }

  dispose(): void {
    this.#subscriptions.dispose();
    if (this.#timer !== undefined) void this.#save();
  }

  #add(command: CommandSnapshot): void {
    if (command.state !== 'finished' || command.command.trim() === '') return;
    const entry: HistoryEntry = {
      commandId: command.commandId,
      command: command.command.slice(0, maxCommandChars),
      sessionName: this.model.session(command.sessionId)?.name ?? command.sessionId,
      cwd: command.cwd ?? '',
      origin: command.origin,
      startedAt: command.startedAt,
      durationMs: Math.round(command.durationMs ?? 0),
      outcome: command.outcome,
      exitCode: command.exitCode ?? null,
      signal: command.signal ?? null,
    };
    if (this.#known.has(identity(entry))) return;
    this.#known.add(identity(entry));
    const at = this.#entries.findIndex(({ startedAt }) => startedAt <= entry.startedAt);
    this.#entries.splice(at < 0 ? this.#entries.length : at, 0, entry);
    this.#entries.length = Math.min(this.#entries.length, maxEntries);
    this.#timer ??= setTimeout(() => void this.#save(), saveAfterMs);
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.memento.update(key, this.#entries);
  }
}

const identity = ({ commandId, startedAt }: HistoryEntry) => `${commandId} ${startedAt}`;
