/** Remembers ids, and of very many the newest: a session may run commands for weeks. */
export class RecentIds {
  readonly #ids: Set<string>;

  constructor(
    ids: Iterable<string> = [],
    private readonly limit = 10_000,
  ) {
    this.#ids = new Set(ids);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= this.limit) return;
      this.#ids.delete(oldest);
    }
  }
}
