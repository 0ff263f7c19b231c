import type { Command } from './command';

const soonMs = 25;
const latestMs = 250;

const watches = new WeakMap<Command, InputWatch>();

/** Calls back when the command waits for input. The answer ends the watching. */
export function watchInput(command: Command, waitsForInput: () => boolean, met: () => void): () => void {
  const watch = watches.get(command) ?? new InputWatch(waitsForInput);
  watches.set(command, watch);
  return watch.add(met);
}

/**
 * Looks now and then, once for all who wait, because each look goes through every process of the machine: soon after somebody
 * begins to wait, and ever more seldom.
 */
class InputWatch {
  private readonly waiting = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  private delayMs = soonMs;

  constructor(private readonly waitsForInput: () => boolean) {}

  add(callback: () => void): () => void {
    const met = () => callback();
    const isAsking = this.waitsForInput();
    this.waiting.add(met);
    this.delayMs = soonMs;
    this.schedule();
    if (isAsking) this.tell();
    return () => {
      this.waiting.delete(met);
      if (this.waiting.size === 0) clearTimeout(this.timer);
    };
  }

  private lookAgain(): boolean {
    try {
      return this.waitsForInput();
    } catch {
      // Out of descriptors, for one, as it was not at the beginning: there is another look.
      return false;
    }
  }

  private tell(): void {
    for (const met of this.waiting) met();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.delayMs = Math.min(2 * this.delayMs, latestMs);
      this.schedule();
      if (this.lookAgain()) this.tell();
    }, this.delayMs);
  }
}
