import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Slot } from '../output/slot';
import type { ProcessIdentity } from '../processes/identity';
import { type CommandFiles, inDirectory, type ShellDialect } from '../shells/dialect';
import type { Command } from './command';
import { keeperOf } from './keeper';
import type { SessionDirectory } from './session-directory';
import { StandardInput } from './standard-input';
import { removeIfPossible } from './sweep';

const foregroundText = 'c';

/** Where a foreground command's text is, as the shell is told it. */
export const commandFile = inDirectory(foregroundText);

const backgroundText = (number: number) => `c.${number}`;
const preparationText = (number: number) => `p.${number}`;
const stdinText = (number: number) => `stdin.${number}`;

/** Where a background command's text is, as the shell is told it. */
export const backgroundFile = (number: number) => inDirectory(backgroundText(number));

/** What is to be noted of inputs that are kept open. */
export interface InputNotes {
  early(command: Command, data: Buffer): void;
  kept(command: Command, keeper: ProcessIdentity): void;
}

/** The files a session's commands are given: their text, their preparation, their input. None outlives its command. */
export class SessionFiles {
  private readonly inputs = new Map<Command, StandardInput>();
  /** The foreground's text has a file that stays open: making one would cost more than the command. */
  private text: number;
  private textLength: number;

  constructor(
    readonly directory: SessionDirectory,
    private readonly notes: InputNotes,
  ) {
    this.text = this.openText();
    this.textLength = fstatSync(this.text).size;
  }

  /** The shell may be about to read the text that is gone: without it, it would tell of a command that it did not run. */
  copyText(directory: string): void {
    const text = Buffer.alloc(this.textLength);
    readSync(this.text, text, 0, text.length, 0);
    writeFileSync(join(directory, foregroundText), text, { mode: 0o600 });
  }

  /** The directory was removed, and is there again. */
  reopen(): void {
    // Opened first: should that fail, the number of a closed one might soon be somebody else's.
    const text = this.openText();
    closeSync(this.text);
    this.text = text;
    this.textLength = fstatSync(text).size;
  }

  /** A foreground command's text; the one before it is no longer read. */
  writeForeground(text: string): string {
    const length = this.writeText(text);
    if (length < this.textLength) ftruncateSync(this.text, length);
    this.textLength = length;
    return commandFile;
  }

  /** A background command's text, which it may read later than the next command starts. */
  writeBackground(command: Command, text: string): string {
    return this.write(backgroundText(command.number), text);
  }

  /** The text that gives a command its own directory and environment, if it has such. */
  prepare(command: Command, dialect: ShellDialect): string | undefined {
    const { overrides } = command.request;
    return overrides === undefined
      ? undefined
      : this.write(preparationText(command.number), dialect.preparation(overrides));
  }

  /** A command's streams. */
  streams(command: Command, slot: Slot): Omit<CommandFiles, 'text'> {
    return {
      stdin: this.stdin(command, slot),
      stdout: inDirectory(`o${slot.number}`),
      stderr: inDirectory(`e${slot.number}`),
    };
  }

  /** The command's input shall stay open; it can be written to from now on. */
  keepInputOpen(command: Command): void {
    const notes = {
      early: (data: Buffer) => this.notes.early(command, data),
      kept: (keeper: ProcessIdentity) => this.notes.kept(command, keeper),
    };
    this.inputs.set(command, new StandardInput(command.earlyInput, notes));
  }

  /** The input of a command that already runs with this slot. */
  resumeInput(command: Command, slot: Slot, keeper: ProcessIdentity | undefined): void {
    this.keepInputOpen(command);
    const fifo = this.directory.file(`i${slot.number}`);
    this.inputs.get(command)?.resume(fifo, keeper ?? keeperOf(fifo));
  }

  /** Processes that hold inputs or outputs open, and are none of any command's. */
  get keepers(): ProcessIdentity[] {
    return [...this.directory.keepers, ...[...this.inputs.values()].flatMap((input) => input.keptBy)];
  }

  keepInputsAgain(): void {
    for (const input of this.inputs.values()) input.keepAgain();
  }

  input(command: Command): StandardInput | undefined {
    return this.inputs.get(command);
  }

  /** The command is over: nothing of it is needed any more. */
  release(command: Command): void {
    this.inputs.get(command)?.dispose();
    this.inputs.delete(command);
    const { number, request } = command;
    if (request.background) this.remove(backgroundText(number));
    if (request.overrides !== undefined) this.remove(preparationText(number));
    if (request.stdin.kind === 'text') this.remove(stdinText(number));
  }

  dispose(): void {
    for (const input of this.inputs.values()) input.dispose();
    this.inputs.clear();
    this.directory.remove();
    closeSync(this.text);
  }

  /** As dispose, for another sidecar to go on: nothing is removed, and inputs stay open. */
  leave(): void {
    for (const input of this.inputs.values()) input.leave();
    this.inputs.clear();
    closeSync(this.text);
  }

  private stdin(command: Command, slot: Slot): string {
    const { stdin } = command.request;
    if (stdin.kind === 'none') return '/dev/null';
    if (stdin.kind === 'text') return this.write(stdinText(command.number), stdin.text);
    const fifo = `i${slot.number}`;
    this.inputs.get(command)?.open(this.directory.file(fifo));
    return inDirectory(fifo);
  }

  /**
   * Not emptied: a shell that is being adopted may be about to read it. A new one takes its room now, so that a session that
   * could be made can run a short command though the disk is full.
   */
  private openText(): number {
    const text = openSync(this.directory.file(foregroundText), constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      if (fstatSync(text).size === 0) writeSync(text, '\n');
    } catch (error) {
      closeSync(text);
      throw error;
    }
    return text;
  }

  /** A disk that is nearly full takes only a part at first, and a part of a command must never be run. */
  private writeText(text: string): number {
    const written = writeSync(this.text, text, 0);
    this.textLength = Math.max(this.textLength, written);
    const length = Buffer.byteLength(text);
    if (written === length) return length;
    const rest = Buffer.from(text).subarray(written);
    for (let at = 0; at < rest.length; ) {
      at += writeSync(this.text, rest, at, rest.length - at, written + at);
      this.textLength = Math.max(this.textLength, written + at);
    }
    return length;
  }

  private write(name: string, text: string): string {
    this.directory.write(name, text);
    return inDirectory(name);
  }

  private remove(name: string): void {
    removeIfPossible(this.directory.file(name));
  }
}
