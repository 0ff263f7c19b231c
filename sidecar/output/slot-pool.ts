import { isFifoUnused } from './fifo';
import { Slot } from './slot';

/** The slots of one session that no command uses. The same one is taken again and again while commands are short. */
export class SlotPool {
  private readonly free: Slot[];
  private readonly all: Slot[];

  constructor(
    private readonly directory: string,
    numbers: readonly number[],
    private readonly make: () => Promise<number>,
  ) {
    this.all = numbers.map((number) => new Slot(directory, number));
    this.free = [...this.all].reverse();
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

  dispose(): void {
    for (const slot of this.all) slot.dispose();
  }

  private async add(): Promise<Slot> {
    const slot = new Slot(this.directory, await this.make());
    this.all.push(slot);
    return slot;
  }
}
