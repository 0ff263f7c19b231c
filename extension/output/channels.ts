import * as vscode from 'vscode';
import type { SidecarClient } from '../../client/client';
import type { SessionInfo } from '../../protocol/values';
import type { SessionsModel } from '../sessions/model';
import { SessionChannel } from './session-channel';

/** Channels of sessions that are gone, kept so that their last output can still be read. */
const keptAfterEnd = 5;

/** One output channel for each session. */
export class OutputChannels implements vscode.Disposable {
  readonly #channels = new Map<string, SessionChannel>();
  readonly #ended: SessionChannel[] = [];
  readonly #subscriptions: vscode.Disposable;

  constructor(
    private readonly model: SessionsModel,
    private readonly connect: () => Promise<SidecarClient>,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      model.onDidList(() => {
        for (const session of model.sessions) this.#of(session).replay(model.commands(session.sessionId));
      }),
      model.onDidChangeSession((session) => {
        const known = this.#channels.get(session.sessionId);
        if (known === undefined || known.session.name === session.name) {
          this.#of(session);
          return;
        }
        // A channel cannot change its name.
        known.dispose();
        this.#channels.delete(session.sessionId);
        this.#of(session).replay(model.commands(session.sessionId));
      }),
      model.onDidChangeCommand((command) => {
        const session = model.session(command.sessionId);
        if (session !== undefined) this.#of(session).show(command);
      }),
      model.onDidLoseSession(({ sessionId }) => this.#end(sessionId)),
    );
  }

  show(sessionId: string, preserveFocus = true): void {
    const session = this.model.session(sessionId);
    if (session !== undefined) this.#of(session).channel.show(preserveFocus);
  }

  dispose(): void {
    this.#subscriptions.dispose();
    for (const channel of [...this.#channels.values(), ...this.#ended]) channel.dispose();
    this.#channels.clear();
  }

  #of(session: SessionInfo): SessionChannel {
    let channel = this.#channels.get(session.sessionId);
    if (channel === undefined) {
      channel = new SessionChannel(session, this.connect);
      this.#channels.set(session.sessionId, channel);
    }
    return channel;
  }

  #end(sessionId: string): void {
    const channel = this.#channels.get(sessionId);
    if (channel === undefined) return;
    this.#channels.delete(sessionId);
    channel.note(vscode.l10n.t('The session has ended.'));
    this.#ended.push(channel);
    if (this.#ended.length > keptAfterEnd) this.#ended.shift()?.dispose();
  }
}
