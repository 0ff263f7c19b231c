import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { failure } from '../../protocol/errors';
import { type ProcessIdentity, signalProcess } from '../processes/identity';
import { openFiles } from '../processes/process-table';
import { describeTrouble } from '../system-failure';
import { keeperOf, keepFifos, makeKeptFifos } from './keeper';
import { restoreDirectory } from './restored-directory';
import { own, removeIfPossible, spareName } from './sweep';

const readySlots = [0, 1, 2];

const slotFifos = (directory: string, slot: number) => ({
  outputs: ['o', 'e'].map((kind) => join(directory, `${kind}${slot}`)),
  input: join(directory, `i${slot}`),
});

/** A session's runtime directory: FIFOs, the shell's boot text, snapshots. Nothing in it outlives the session. */
export class SessionDirectory {
  private isRemoved = false;

  /** `keepers` hold its FIFOs open; they are part of the session and of no command. */
  constructor(
    readonly path: string,
    readonly keepers: ProcessIdentity[],
    readonly slots: number[] = [...readySlots],
  ) {}

  /** The directory of a session that is already there. */
  static existing(path: string, keepers: ProcessIdentity[]): SessionDirectory {
    const slots = readdirSync(path).flatMap((name) => (/^i\d+$/.test(name) ? [Number(name.slice(1))] : []));
    const directory = new SessionDirectory(path, keepers, slots);
    // A sidecar that was killed as it added a slot had no time to note who keeps it.
    for (const slot of directory.unkept()) {
      const keeper = slotFifos(path, slot)
        .outputs.map(keeperOf)
        .find((found) => found !== undefined);
      if (keeper !== undefined) keepers.push(keeper);
    }
    return directory;
  }

  /** Has those slots kept that nobody keeps; whether there were any. */
  async keepTheRest(): Promise<boolean> {
    const unkept = this.unkept();
    for (const slot of unkept) this.keepers.push(await keepFifos(slotFifos(this.path, slot).outputs));
    return unkept.length > 0;
  }

  /** Slots whose output would be gone with the sidecar, as far as the system tells. */
  private unkept(): number[] {
    if (process.platform !== 'linux') return [];
    const kept = new Set(this.keepers.flatMap(({ pid }) => openFiles(pid)));
    return this.slots.filter((slot) => !slotFifos(this.path, slot).outputs.every((path) => kept.has(path)));
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

  /** Makes it again after somebody removed it; `keepers` are all that hold its FIFOs open. */
  restore(keepers: readonly number[]): void {
    const inputs = this.slots.map((slot) => `i${slot}`);
    restoreDirectory(this.path, inputs, keepers);
  }

  /** Makes the FIFOs of one more slot and answers with its number. */
  async addSlot(): Promise<number> {
    const slot = Math.max(-1, ...this.slots) + 1;
    this.slots.push(slot);
    const { outputs, input } = slotFifos(this.path, slot);
    this.keepers.push(await makeKeptFifos(outputs, [input]));
    return slot;
  }

  /** Nobody will use it: its keepers go too. */
  abandon(): void {
    for (const keeper of this.keepers) signalProcess(keeper, 'SIGKILL');
    this.remove();
  }

  remove(): void {
    if (this.isRemoved) return;
    this.isRemoved = true;
    removeIfPossible(this.path);
  }
}

interface Spare {
  path: string;
  keeper: ProcessIdentity;
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
    const { path: made, keeper } = (await this.takeSpare()) ?? (await this.make());
    const path = join(this.root, sessionId);
    renameSync(made, path);
    return new SessionDirectory(path, [keeper]);
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
    signalProcess(spare.keeper, 'SIGKILL');
    removeIfPossible(spare.path);
  }

  private async takeSpare(): Promise<Spare | undefined> {
    const making = this.spare;
    this.spare = undefined;
    const spare = await making;
    if (spare === undefined || statSync(join(spare.path, 'ctl'), { throwIfNoEntry: false })?.isFIFO()) return spare;
    // Somebody removed it, or parts of it as it was made.
    signalProcess(spare.keeper, 'SIGKILL');
    removeIfPossible(spare.path);
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
