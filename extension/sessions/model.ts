import * as vscode from 'vscode';
import type { SidecarClient } from '../../client/client';
import type { ChangeEvent, CommandSnapshot, SessionInfo } from '../../protocol/values';
import type { Supervisor } from '../supervisor';

/** More than a sidecar remembers of one session; older ones are in the history. */
const maxCommandsPerSession = 1000;

const order = { queued: 0, running: 1, finished: 2 } as const;

/** What the sidecar's sessions and commands are right now, as the sidecar tells it; everything that is shown comes from here. */
export class SessionsModel implements vscode.Disposable {
  readonly #sessions = new Map<string, SessionInfo>();
  readonly #commands = new Map<string, Map<string, CommandSnapshot>>();
  readonly #unfinished = new Map<string, CommandSnapshot>();
  readonly #listed = new vscode.EventEmitter<void>();
  readonly #sessionChanged = new vscode.EventEmitter<SessionInfo>();
  readonly #sessionGone = new vscode.EventEmitter<SessionInfo>();
  readonly #commandChanged = new vscode.EventEmitter<CommandSnapshot>();
  readonly #subscription: vscode.Disposable;
  #client: SidecarClient | undefined;

  /** Everything may be different: a sidecar was found, and this is what it has. */
  readonly onDidList = this.#listed.event;
  readonly onDidChangeSession = this.#sessionChanged.event;
  readonly onDidLoseSession = this.#sessionGone.event;
  readonly onDidChangeCommand = this.#commandChanged.event;

  constructor(private readonly supervisor: Supervisor) {
    const attend = () => {
      const { state } = supervisor;
      if (state.kind === 'running') void this.#follow(state.client);
      if (state.kind === 'failed') this.#replace([], []);
    };
    this.#subscription = supervisor.onDidChange(attend);
    attend();
  }

  /** Oldest first. */
  get sessions(): SessionInfo[] {
    return [...this.#sessions.values()].map((session) => this.#withCommands(session));
  }

  session(sessionId: string): SessionInfo | undefined {
    const session = this.#sessions.get(sessionId);
    return session && this.#withCommands(session);
  }

  /** Oldest first. */
  commands(sessionId: string): CommandSnapshot[] {
    return [...(this.#commands.get(sessionId)?.values() ?? [])];
  }

  command(commandId: string): CommandSnapshot | undefined {
    return this.#commands.get(commandId.slice(0, commandId.lastIndexOf(':')))?.get(commandId);
  }

  get unfinished(): CommandSnapshot[] {
    return [...this.#unfinished.values()];
  }

  /** When the sidecar that is connected by then has told what it has. */
  async listed(): Promise<void> {
    const client = await this.supervisor.client();
    if (this.#client === client) return;
    await new Promise<void>((resolve) => {
      const subscription = this.onDidList(() => {
        subscription.dispose();
        resolve();
      });
    });
  }

  /** A request's own answer is known before the event about it arrives. */
  learn(session: SessionInfo): void {
    this.#receive({ event: 'session', session });
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#client = undefined;
    for (const emitter of [this.#listed, this.#sessionChanged, this.#sessionGone, this.#commandChanged]) {
      emitter.dispose();
    }
  }

  /** Subscribes before it lists, so that nothing falls between the two. */
  async #follow(client: SidecarClient): Promise<void> {
    let open = true;
    client.onClose(() => {
      open = false;
    });
    while (open) {
      const events = client
        .stream('events.subscribe', {}, (event) => this.#receive(event))
        // One that lagged too far behind is told to list again.
        .catch(() => undefined);
      try {
        const [{ sessions }, { commands }] = await Promise.all([
          client.request('session.list', {}),
          client.request('exec.list', {}),
        ]);
        this.#client = client;
        this.#replace(sessions, commands);
      } catch {
        // Only a lost connection fails these; the supervisor finds the next one.
        return;
      }
      await events;
    }
  }

  #replace(sessions: SessionInfo[], commands: CommandSnapshot[]): void {
    const lost = this.sessions.filter(({ sessionId }) => !sessions.some((known) => known.sessionId === sessionId));
    this.#sessions.clear();
    this.#commands.clear();
    this.#unfinished.clear();
    for (const session of sessions) this.#sessions.set(session.sessionId, session);
    for (const command of commands) this.#remember(command);
    for (const session of lost) this.#sessionGone.fire(session);
    this.#listed.fire();
  }

  #receive(event: ChangeEvent): void {
    switch (event.event) {
      case 'session':
        this.#sessions.set(event.session.sessionId, event.session);
        this.#sessionChanged.fire(event.session);
        break;
      case 'session_gone': {
        const session = this.#sessions.get(event.sessionId);
        this.#sessions.delete(event.sessionId);
        for (const commandId of this.#commands.get(event.sessionId)?.keys() ?? []) this.#unfinished.delete(commandId);
        this.#commands.delete(event.sessionId);
        if (session !== undefined) this.#sessionGone.fire(session);
        break;
      }
      case 'command': {
        const known = this.command(event.command.commandId);
        // A late event never takes a command back to an earlier state.
        if (known !== undefined && order[known.state] > order[event.command.state]) break;
        this.#remember(event.command);
        this.#commandChanged.fire(event.command);
        break;
      }
    }
  }

  /** Events about a command come before those about its session, so what runs is told by the commands. */
  #withCommands({ runningCommand: _, ...session }: SessionInfo): SessionInfo {
    const own = this.unfinished.filter(({ sessionId }) => sessionId === session.sessionId);
    const running = own.find(({ state, background }) => state === 'running' && !background);
    const count = (test: (command: CommandSnapshot) => boolean) => own.filter(test).length;
    return {
      ...session,
      queued: count(({ state }) => state === 'queued'),
      backgroundCount: count(({ state, background }) => state === 'running' && background),
      ...(running === undefined
        ? {}
        : {
            runningCommand: { commandId: running.commandId, command: running.command, startedAt: running.startedAt },
          }),
    };
  }

  #remember({ stdout, stderr, ...command }: CommandSnapshot): void {
    let commands = this.#commands.get(command.sessionId);
    if (commands === undefined) {
      commands = new Map();
      this.#commands.set(command.sessionId, commands);
    }
    commands.set(command.commandId, command);
    if (command.state === 'finished') this.#unfinished.delete(command.commandId);
    else this.#unfinished.set(command.commandId, command);
    if (commands.size <= maxCommandsPerSession) return;
    for (const [commandId, { state }] of commands) {
      if (state !== 'finished') continue;
      commands.delete(commandId);
      return;
    }
  }
}
