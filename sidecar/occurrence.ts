/**
 * Something that happens once. Unlike a promise it lets go of whoever waits no longer: what was given to a promise's `then`
 * stays until it is kept, and what is waited for by many who come and go may be kept after days.
 */
export class Occurrence {
  private hasHappened = false;
  /** Made when somebody waits; mostly nobody does. */
  private waiting: Set<() => void> | undefined;

  happen(): void {
    const { waiting } = this;
    this.hasHappened = true;
    this.waiting = undefined;
    for (const callback of waiting ?? []) callback();
  }

  /** Calls back once, at once if it has happened. The answer ends the waiting. */
  once(callback: () => void): () => void {
    if (this.hasHappened) {
      callback();
      return () => {};
    }
    this.waiting ??= new Set();
    // Wrapped, because the same callback may be given twice.
    const call = () => callback();
    this.waiting.add(call);
    return () => void this.waiting?.delete(call);
  }
}
