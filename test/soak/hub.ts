import { SidecarClient } from '../../client/client';
import { LimpetError } from '../../protocol/errors';
import type { MethodName, Params, Result } from '../../protocol/methods';
import { until } from '../helpers/sidecar';

/** How often the sidecar has gone, by what. What happened between two moments is the difference of two counts. */
export interface Departures {
  kills: number;
  handOvers: number;
}

/** The way to whatever sidecar there is: when one goes, everybody is connected to the next. */
export class Hub {
  readonly departures: Departures = { kills: 0, handOvers: 0 };
  /** How often there was a sidecar to connect to. */
  arrivals = 0;
  /** Every time a new sidecar is there. */
  onArrival: (client: SidecarClient) => Promise<void> = async () => {};
  private client: SidecarClient | undefined;
  private connecting: Promise<SidecarClient> | undefined;

  constructor(private readonly options: { sidecarPath: string; env: NodeJS.ProcessEnv }) {}

  /** Arrivals after a sidecar went of its own accord, or dropped the connection. */
  get unasked(): number {
    const { kills, handOvers } = this.departures;
    return this.arrivals - (1 + kills + handOvers);
  }

  get pid(): number {
    return this.client?.sidecar.pid ?? 0;
  }

  /** A connection of its own, to be dropped as the caller likes. */
  async extra(): Promise<SidecarClient> {
    for (;;) {
      await this.connected();
      try {
        return await SidecarClient.connect({ clientName: 'soak-extra', start: false, ...this.options });
      } catch {
        // The sidecar went away between the two.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  connected(): Promise<SidecarClient> {
    if (this.client !== undefined) return Promise.resolve(this.client);
    this.connecting ??= this.connect().finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }

  /** Asks, and asks again if the sidecar went away meanwhile. Only for what may be asked twice. */
  async ask<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    for (;;) {
      const client = await this.connected();
      try {
        return await client.request(method, params);
      } catch (thrown) {
        if (!(await this.hasLeft(client, thrown))) throw thrown;
      }
    }
  }

  /** Whether a failure means that the sidecar has gone; resolves when it has, so that the next can be asked. */
  async hasLeft(client: SidecarClient, thrown: unknown): Promise<boolean> {
    if (client !== this.client) return true;
    const isEnding = thrown instanceof LimpetError && thrown.code === 'shutting_down';
    if (!isEnding) {
      // The end of the connection is noticed a moment after what was in flight has failed.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return client !== this.client;
    }
    await until(() => client !== this.client, 'the sidecar that is ending has ended', 60_000);
    return true;
  }

  /** Kills the sidecar, or asks it to hand over; resolves when the next one is there. */
  async depart(how: keyof Departures): Promise<void> {
    const client = await this.connected();
    const { pid } = client.sidecar;
    this.departures[how]++;
    if (how === 'kills') process.kill(pid, 'SIGKILL');
    else {
      // The answer may be lost with the connection.
      await client.request('system.shutdown', { keepSessions: true }).catch((thrown: unknown) => {
        if (!(thrown instanceof LimpetError && thrown.code === 'shutting_down')) throw thrown;
      });
    }
    await until(() => this.client !== client, 'the connection is gone', 60_000);
    await this.connected();
  }

  dispose(): void {
    const { client } = this;
    this.client = undefined;
    client?.dispose();
  }

  private async connect(): Promise<SidecarClient> {
    const client = await SidecarClient.connect({ clientName: 'soak', startTimeoutMs: 60_000, ...this.options });
    client.onClose(() => {
      if (this.client === client) this.client = undefined;
    });
    this.client = client;
    this.arrivals++;
    // One that is gone again has nothing to tell; whoever asks it next notices.
    await this.onArrival(client).catch((thrown: unknown) => {
      if (!(thrown instanceof LimpetError && thrown.code === 'shutting_down')) throw thrown;
    });
    return client;
  }
}
