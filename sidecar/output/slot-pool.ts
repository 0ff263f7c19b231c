import { isFifoUnused } from './fifo';
import { Slot } from './slot';

/** So many may be free for commands to come. */
const mostFree = 8;

/** To remove one takes a moment, in which nobody else is served. */
const mostAtOnce = 64;

/** The slots of one session that no command uses. The same one is taken again and again while commands are short. */
export class SlotPool {
  private readonly free: Slot[];
  private readonly all: Set<Slot>;

  constructor(
    private readonly directory: string,
    numbers: readonly number[],
    private readonly make: () => Promise<number>,
  ) {
    this.free = numbers.map((number) => new Slot(directory, number)).reverse();
    this.all = new Set(this.free);
  }

  get count(): number {
    return this.all.size;
  }

  /** At once if one is free; otherwise one more is made. */
  take(): Slot | Promise<Slot> {
    return this.free.pop() ?? this.add();
  }

  /** One whose input nobody has open: what was left in it, or is still read by somebody, is another command's. */
  takeWithInput(): Slot | Promise<Slot> {
    const unused = this.free.findLast(({ inputPath }) => isFifoUnused(inputPath));
    return (unused && this.claim(unused.number)) ?? this.add();
  }

  /** A certain slot, for a command that already has it; nothing if there is none of that number. */
  claim(number: number): Slot | undefined {
    const at = this.free.findIndex((slot) => slot.number === number);
    return at < 0 ? undefined : this.free.splice(at, 1)[0];
  }

  giveBack(slot: Slot): void {
    this.free.push(slot);
  }

  /** Whether more are free than commands to come are likely to need. */
  get hasSpares(): boolean {
    return this.free.length > mostFree;
  }

  /** Lets go of free ones that many commands at once needed, as far as they may go. Answers with their numbers. */
  letGoOfSpares(mayGo: (number: number) => boolean): number[] {
    const most = Math.min(this.free.length - mostFree, mostAtOnce);
    // The one that was used last is at the end.
    const spares = this.free.filter(({ number }) => mayGo(number)).slice(0, Math.max(0, most));
    for (const spare of spares) {
      this.claim(spare.number);
      this.all.delete(spare);
      spare.dispose();
    }
    return spares.map(({ number }) => number);
  }

  dispose(): void {
    for (const slot of this.all) slot.dispose();
  }

  private async add(): Promise<Slot> {
    const slot = new Slot(this.directory, await this.make());
    this.all.add(slot);
    return slot;
  }
}
