import type { Connection } from '../transports/connection';

/** Everyone who is connected, over whatever transport, and what to do when the last one has left. */
export class Clients {
  private readonly connections = new Set<Connection>();
  private leaving: NodeJS.Timeout | undefined;

  constructor(
    private readonly maxConnections: number,
    private readonly keepAliveMs: number | undefined,
    private readonly onAbandoned: () => void,
  ) {
    this.expectClients();
  }

  get size(): number {
    return this.connections.size;
  }

  get isFull(): boolean {
    return this.connections.size >= this.maxConnections;
  }

  add(connection: Connection): void {
    this.connections.add(connection);
    clearTimeout(this.leaving);
    connection.onClosed(() => {
      this.connections.delete(connection);
      if (this.connections.size === 0) this.expectClients();
    });
  }

  /** Lets every request be answered and every answer be sent, within the time given. */
  async farewell(withinMs: number): Promise<void> {
    clearTimeout(this.leaving);
    const all = [...this.connections];
    await within(withinMs, Promise.all(all.map((connection) => connection.answered())));
    await within(withinMs, Promise.all(all.map((connection) => connection.end())));
    for (const connection of all) connection.dispose();
  }

  dispose(): void {
    clearTimeout(this.leaving);
    for (const connection of this.connections) connection.dispose();
  }

  private expectClients(): void {
    if (this.keepAliveMs === undefined) return;
    clearTimeout(this.leaving);
    this.leaving = setTimeout(this.onAbandoned, Math.min(this.keepAliveMs, 2 ** 31 - 1));
  }
}

export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const inTime = await Promise.race([work.then(() => true as const), late]);
  clearTimeout(timer);
  return inTime;
}
