import type { RequestId } from '../../protocol/envelope';

/** Requests that were read and are not yet answered, by their id. */
export class InFlight {
  private readonly requests = new Map<RequestId, { cancelled: boolean }>();
  private waiting: (() => void)[] = [];

  get size(): number {
    return this.requests.size;
  }

  has(id: RequestId): boolean {
    return this.requests.has(id);
  }

  add(id: RequestId): void {
    this.requests.set(id, { cancelled: false });
  }

  delete(id: RequestId): void {
    this.requests.delete(id);
    if (this.requests.size === 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** True the first time, and only for a request that is there. */
  cancel(id: RequestId): boolean {
    const request = this.requests.get(id);
    if (request === undefined || request.cancelled) return false;
    request.cancelled = true;
    return true;
  }

  none(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }
}
