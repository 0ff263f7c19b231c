import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { failure } from '../../protocol/errors';
import { own } from './sweep';

const run = promisify(execFile);
const readySlots = 3;

const slotFifos = (directory: string, slot: number) => ['o', 'e', 'i'].map((kind) => join(directory, `${kind}${slot}`));

async function makeFifos(paths: string[]): Promise<void> {
  try {
    await run('mkfifo', ['-m', '600', ...paths]);
  } catch (error) {
    throw failure.shellStartFailed(
      `The session's FIFOs could not be made: ${(error as Error).message.split('\n')[0]}. Is the runtime directory writable?`,
    );
  }
}

/** A session's runtime directory: FIFOs, the shell's boot text, snapshots. Nothing in it outlives the session. */
export class SessionDirectory {
  private slots = readySlots;
  private isRemoved = false;

  constructor(readonly path: string) {}

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, text: string): string {
    const path = this.file(name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Makes the FIFOs of one more slot and answers with its number. */
  async addSlot(): Promise<number> {
    const slot = this.slots++;
    await makeFifos(slotFifos(this.path, slot));
    return slot;
  }

  get readySlots(): number[] {
    return Array.from({ length: readySlots }, (_, slot) => slot);
  }

  remove(): void {
    if (this.isRemoved) return;
    this.isRemoved = true;
    rmSync(this.path, { recursive: true, force: true });
  }
}

/**
 * Makes session directories, one ahead of need: a FIFO takes a program to make, and starting that takes as long as starting
 * the shell.
 */
export class SessionDirectories {
  private spare: Promise<string> | undefined;
  private count = 0;
  private isDisposed = false;

  constructor(private readonly root: string) {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    chmodSync(root, 0o700);
  }

  async take(sessionId: string): Promise<SessionDirectory> {
    const spare = this.spare ?? this.make();
    this.spare = undefined;
    const path = join(this.root, sessionId);
    renameSync(await spare, path);
    return new SessionDirectory(path);
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
    if (spare !== undefined) rmSync(spare, { recursive: true, force: true });
  }

  private async make(): Promise<string> {
    const path = join(this.root, `spare-${process.pid}-${this.count++}`);
    mkdirSync(path, { mode: 0o700 });
    own(path);
    const slots = Array.from({ length: readySlots }, (_, slot) => slotFifos(path, slot));
    await makeFifos([join(path, 'in'), join(path, 'ctl'), ...slots.flat()]);
    return path;
  }
}
