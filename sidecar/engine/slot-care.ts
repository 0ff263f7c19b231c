import { failure } from '../../protocol/errors';
import type { SlotPool } from '../output/slot-pool';
import type { ProcessIdentity } from '../processes/identity';
import type { SessionDirectory } from './session-directory';

interface Notes {
  /** There is another slot or keeper, or one less. */
  changed(): void;
  /** Slots are about to be removed: that their commands have ended is to be noted before. */
  beforeRemoval(): void;
}

/** Sees to it that there are slots enough and not too many, each with a keeper. */
export class SlotCare {
  private isKeeping = false;

  constructor(
    private readonly sessionId: string,
    private readonly slots: SlotPool,
    private readonly directory: SessionDirectory,
    private readonly mostSlots: number,
    private readonly notes: Notes,
  ) {}

  /** Makes one more, and answers with its number. */
  async add(): Promise<number> {
    const { count } = this.slots;
    if (count >= this.mostSlots) {
      throw failure.overloaded(
        `${count} commands of session ${this.sessionId} have their output open: they run, or what they left behind does (held_open_by). ` +
          'End such processes from another session, or destroy this one; send what is to stay elsewhere (>/dev/null 2>&1).',
      );
    }
    const slot = await this.directory.addSlot();
    this.notes.changed();
    return slot;
  }

  /** Has those kept that nobody keeps. */
  async keepTheRest(): Promise<void> {
    if (this.isKeeping) return;
    this.isKeeping = true;
    const isNew = await this.directory.keepTheRest().catch(() => false);
    this.isKeeping = false;
    if (isNew) this.notes.changed();
  }

  look(): void {
    if (this.isKeeping) return;
    if (this.directory.hasLostKeeper) void this.keepTheRest();
    else if (this.slots.hasSpares) this.removeSpares();
  }

  private removeSpares(): void {
    const removable = this.directory.removableSlots();
    const spares = this.slots.letGoOfSpares((slot) => removable.has(slot));
    if (spares.length === 0) return;
    this.notes.beforeRemoval();
    for (const slot of spares) this.directory.removeSlot(slot, removable.get(slot) as ProcessIdentity);
    this.notes.changed();
  }
}
