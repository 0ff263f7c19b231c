import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failure } from '../../protocol/errors';
import { isAlive, isSame, type ProcessIdentity, signalProcess } from '../processes/identity';
import { collected } from '../processes/kill-ladder';
import { openFiles } from '../processes/process-table';
import { describeTrouble } from '../system-failure';
import { keeperOf, keepFifos, makeKeptFifos } from './keeper';
import { restoreDirectory } from './restored-directory';
import { own, removeIfPossible, spareName } from './sweep';

const readySlots = [0, 1, 2];

/** What there is besides slots: the shell's lines and its records. */
const channels = ['in', 'ctl'];

const slotFifos = (directory: string, slot: number) => ({
  outputs: ['o', 'e'].map((kind) => join(directory, `${kind}${slot}`)),
  input: join(directory, `i${slot}`),
});

/** A session's runtime directory: FIFOs, the shell's boot text, snapshots. Nothing in it outlives the session. */
export class SessionDirectory {
  private isRemoved = false;
  /** No number is used again: a shell may not have read yet what it was told of the slot that had it. */
  private nextSlot: number;

  /** `keepers` hold its FIFOs open; they are part of the session and of no command. */
  constructor(
    readonly path: string,
    readonly keepers: ProcessIdentity[],
    readonly slots: number[] = [...readySlots],
    usedSlots: readonly number[] = slots,
  ) {
    this.nextSlot = Math.max(-1, ...usedSlots) + 1;
  }

  /** The directory of a session that is already there. */
  static existing(path: string, keepers: ProcessIdentity[]): SessionDirectory {
    const names = readdirSync(path).filter((name) => /^[ioe]\d+$/.test(name));
    const numbers = (kind: string) => names.flatMap((name) => (name.startsWith(kind) ? [Number(name.slice(1))] : []));
    // The input is made last and removed first: what has none is no slot.
    const directory = new SessionDirectory(path, keepers, numbers('i'), ['i', 'o', 'e'].flatMap(numbers));
    // A sidecar that was killed as it added a slot had no time to note who keeps it.
    for (const fifos of directory.unkept()) {
      const keeper = fifos.map(keeperOf).find((found) => found !== undefined);
      if (keeper !== undefined && !keepers.some((known) => isSame(known, keeper))) keepers.push(keeper);
    }
    return directory;
  }

  /** Whether one of its keepers has ended, as after a "pkill sleep". */
  get hasLostKeeper(): boolean {
    return process.platform === 'linux' && !this.keepers.every(isAlive);
  }

  /** Has those FIFOs kept that nobody keeps; whether there were any. */
  async keepTheRest(): Promise<boolean> {
    const dead = this.keepers.filter((keeper) => !isAlive(keeper));
    const unkept = this.unkept();
    for (const fifos of unkept) await this.keep(keepFifos(fifos));
    this.forget(dead);
    return unkept.length > 0 || dead.length > 0;
  }

  /** FIFOs that belong together, and what is in which would be gone with the sidecar, as far as the system tells. */
  private unkept(): string[][] {
    if (process.platform !== 'linux') return [];
    const kept = new Set(this.keepers.flatMap(({ pid }) => openFiles(pid)));
    const groups = [channels.map((name) => this.file(name)), ...this.slots.map((slot) => this.outputsOf(slot))];
    return groups.map((fifos) => fifos.filter((path) => !kept.has(path))).filter((fifos) => fifos.length > 0);
  }

  private outputsOf(slot: number): string[] {
    return slotFifos(this.path, slot).outputs;
  }

  /** A keeper that comes when the directory has gone would stay for ever. */
  private async keep(starting: Promise<ProcessIdentity>): Promise<void> {
    const keeper = await starting;
    this.keepers.push(keeper);
    if (this.isRemoved) signalProcess(keeper, 'SIGKILL');
  }

  private forget(keepers: readonly ProcessIdentity[]): void {
    const left = this.keepers.filter((keeper) => !keepers.includes(keeper));
    this.keepers.splice(0, this.keepers.length, ...left);
  }

  /** Slots that can be removed, because they have a keeper of their own. */
  removableSlots(): Map<number, ProcessIdentity> {
    const removable = new Map<number, ProcessIdentity>();
    for (const keeper of this.keepers) {
      const kept = openFiles(keeper.pid).filter((path) => dirname(path) === this.path);
      const slot = this.slots.find((number) => number >= readySlots.length && kept.includes(this.file(`o${number}`)));
      if (slot === undefined || !isAlive(keeper)) continue;
      const outputs = this.outputsOf(slot);
      if (kept.every((path) => outputs.includes(path))) removable.set(slot, keeper);
    }
    return removable;
  }

  removeSlot(slot: number, keeper: ProcessIdentity): void {
    const { outputs, input } = slotFifos(this.path, slot);
    this.slots.splice(this.slots.indexOf(slot), 1);
    for (const path of [input, ...outputs]) removeIfPossible(path);
    this.forget([keeper]);
    signalProcess(keeper, 'SIGKILL');
  }

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, text: string): string {
    const path = this.file(name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Whether nobody has removed it, or began to. */
  get isThere(): boolean {
    return ['in', 'ctl', 'o0', 'e0'].every((name) => existsSync(this.file(name)));
  }

  /** Makes it again after somebody removed it; `keepers` are all that hold its FIFOs open, and `fill` adds what else is needed. */
  restore(keepers: readonly number[], fill: (directory: string) => void): void {
    const inputs = this.slots.map((slot) => `i${slot}`);
    restoreDirectory(this.path, inputs, keepers, fill);
  }

  /** Makes the FIFOs of one more slot and answers with its number. */
  async addSlot(): Promise<number> {
    const slot = this.nextSlot++;
    const { outputs, input } = slotFifos(this.path, slot);
    try {
      await this.keep(makeKeptFifos(outputs, [input]));
    } catch (error) {
      for (const path of [input, ...outputs]) removeIfPossible(path);
      throw error;
    }
    this.slots.push(slot);
    return slot;
  }

  /** Its keepers go too: one may have come after everybody else was looked for and ended. */
  remove(): void {
    if (this.isRemoved) return;
    this.isRemoved = true;
    for (const keeper of this.keepers) signalProcess(keeper, 'SIGKILL');
    removeIfPossible(this.path);
  }
}

interface Spare {
  path: string;
  keeper: ProcessIdentity;
}

function abandon({ path, keeper }: Spare): void {
  signalProcess(keeper, 'SIGKILL');
  removeIfPossible(path);
}

/**
 * Makes session directories, one ahead of need: a FIFO takes a program to make, and starting that takes as long as starting
 * the shell.
 */
export class SessionDirectories {
  private spare: Promise<Spare> | undefined;
  private count = 0;
  private isDisposed = false;

  constructor(private readonly root: string) {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    chmodSync(root, 0o700);
  }

  async take(sessionId: string): Promise<SessionDirectory> {
    const made = (await this.takeSpare()) ?? (await this.make());
    const path = join(this.root, sessionId);
    try {
      renameSync(made.path, path);
    } catch (error) {
      abandon(made);
      throw error;
    }
    return new SessionDirectory(path, [made.keeper]);
  }

  /** Begins to make the next one; called when the shell that took the last is already starting. */
  prepare(): void {
    if (this.isDisposed || this.spare !== undefined) return;
    this.spare = this.make();
    this.spare.catch(() => {
      this.spare = undefined;
    });
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
    const spare = await this.spare?.catch(() => undefined);
    this.spare = undefined;
    if (spare === undefined) return;
    abandon(spare);
    await collected([spare.keeper]);
  }

  private async takeSpare(): Promise<Spare | undefined> {
    const making = this.spare;
    this.spare = undefined;
    const spare = await making;
    if (spare === undefined || statSync(join(spare.path, 'ctl'), { throwIfNoEntry: false })?.isFIFO()) return spare;
    // Somebody removed it, or parts of it as it was made.
    abandon(spare);
    return undefined;
  }

  private async make(): Promise<Spare> {
    const path = join(this.root, spareName(this.count++));
    const slots = readySlots.map((slot) => slotFifos(path, slot));
    const kept = [join(path, 'in'), join(path, 'ctl'), ...slots.flatMap(({ outputs }) => outputs)];
    const inputs = slots.map(({ input }) => input);
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      own(path);
      return { path, keeper: await makeKeptFifos(kept, inputs) };
    } catch (error) {
      removeIfPossible(path);
      const why = describeTrouble(error);
      throw why === undefined ? error : failure.shellStartFailed(`The session's directory could not be made. ${why}`);
    }
  }
}
