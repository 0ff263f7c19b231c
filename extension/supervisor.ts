import type { SidecarClient } from '../client/client';
import { messageOf } from './message-of';

export type SidecarState =
  | { kind: 'stopped' }
  | { kind: 'starting' }
  | { kind: 'running'; client: SidecarClient }
  | { kind: 'restarting'; attempt: number; reason: string }
  | { kind: 'failed'; reason: string };

export interface SupervisorOptions {
  connect: () => Promise<SidecarClient>;
  /** How long to wait before each restart; when the list is used up, the supervisor gives up. */
  backoffMs?: readonly number[];
  /** After this long without trouble, earlier restarts no longer count. */
  healthyAfterMs?: number;
  /** How long a sidecar may take to answer; one that is frozen never would. */
  connectTimeoutMs?: number;
  /** How long an asked-for restart gives the old sidecar to hand over before it is killed. */
  graceMs?: number;
}

interface Disposable {
  dispose(): void;
}

/** Keeps one connection to a living sidecar: connects or starts one, and does so again when it is lost. */
export class Supervisor implements Disposable {
  readonly #connect: () => Promise<SidecarClient>;
  readonly #backoffMs: readonly number[];
  readonly #healthyAfterMs: number;
  readonly #connectTimeoutMs: number;
  readonly #graceMs: number;
  readonly #listeners = new Set<(state: SidecarState) => void>();
  #state: SidecarState = { kind: 'stopped' };
  #restarts = 0;
  /** Only the newest attempt may change the state; an older one that is still under way finds itself outdated. */
  #attempt = 0;
  #timer: NodeJS.Timeout | undefined;
  #asked: Promise<void> | undefined;
  #disposed = false;

  constructor(options: SupervisorOptions) {
    this.#connect = options.connect;
    this.#backoffMs = options.backoffMs ?? [0, 250, 500, 1000, 2000];
    this.#healthyAfterMs = options.healthyAfterMs ?? 60_000;
    this.#connectTimeoutMs = options.connectTimeoutMs ?? 20_000;
    this.#graceMs = options.graceMs ?? 3000;
  }

  get state(): SidecarState {
    return this.#state;
  }

  onDidChange(listener: (state: SidecarState) => void): Disposable {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  start(): void {
    if (this.#state.kind !== 'stopped' || this.#disposed) return;
    this.#become({ kind: 'starting' });
    void this.#tryOnce();
  }

  /** The connection as soon as there is one; rejects once the supervisor has given up. */
  async client(): Promise<SidecarClient> {
    this.start();
    const state = await this.#settled();
    if (state.kind === 'running') return state.client;
    throw new Error(state.kind === 'failed' ? state.reason : 'Limpet is shutting down.');
  }

  /** Ends the sidecar, whatever its state, and answers when another one goes on with its sessions. */
  restart(): Promise<void> {
    this.#asked ??= this.#restart().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#forgetAttempt();
    if (this.#state.kind === 'running') this.#state.client.dispose();
    this.#become({ kind: 'stopped' });
    this.#listeners.clear();
  }

  async #restart(): Promise<void> {
    if (this.#state.kind !== 'starting' && !this.#disposed) {
      this.#forgetAttempt();
      this.#restarts = 0;
      const before = this.#state;
      this.#become({ kind: 'restarting', attempt: 0, reason: 'You asked for it.' });
      if (before.kind === 'running') await endSidecar(before.client, this.#graceMs);
      void this.#tryOnce();
    }
    await this.client();
  }

  async #tryOnce(): Promise<void> {
    if (this.#disposed) return;
    this.#forgetAttempt();
    const attempt = this.#attempt;
    this.#timer = setTimeout(() => this.#lost('The sidecar does not answer.'), this.#connectTimeoutMs);
    let client: SidecarClient;
    try {
      client = await this.#connect();
    } catch (error) {
      if (attempt === this.#attempt) this.#lost(messageOf(error));
      return;
    }
    if (attempt !== this.#attempt) {
      client.dispose();
      return;
    }
    client.onClose(() => {
      if (attempt === this.#attempt) this.#lost('The sidecar ended unexpectedly.');
    });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#restarts = 0;
    }, this.#healthyAfterMs);
    this.#become({ kind: 'running', client });
  }

  #lost(reason: string): void {
    this.#forgetAttempt();
    const delay = this.#backoffMs[this.#restarts];
    if (delay === undefined) {
      this.#become({ kind: 'failed', reason });
      return;
    }
    this.#restarts += 1;
    this.#become({ kind: 'restarting', attempt: this.#restarts, reason });
    this.#timer = setTimeout(() => void this.#tryOnce(), delay);
  }

  #forgetAttempt(): void {
    this.#attempt += 1;
    clearTimeout(this.#timer);
  }

  #become(state: SidecarState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }

  #settled(): Promise<SidecarState> {
    const isSettled = (state: SidecarState) => state.kind !== 'starting' && state.kind !== 'restarting';
    if (isSettled(this.#state)) return Promise.resolve(this.#state);
    return new Promise((resolve) => {
      const subscription = this.onDidChange((state) => {
        if (!isSettled(state)) return;
        subscription.dispose();
        resolve(state);
      });
    });
  }
}

/** Asks first; a sidecar that does not let go in time is killed. Either way the next one goes on with its sessions. */
async function endSidecar(client: SidecarClient, graceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const kill = setTimeout(() => {
      try {
        process.kill(client.sidecar.pid, 'SIGKILL');
      } catch {
        resolve();
      }
    }, graceMs);
    client.onClose(() => {
      clearTimeout(kill);
      resolve();
    });
    client.request('system.shutdown', { keepSessions: true }).catch(() => {
      // It may well close the connection before it answers; the connection's end is what counts.
    });
  });
  client.dispose();
}
