import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Slot } from '../output/slot';
import { type CommandFiles, inDirectory, type ShellDialect } from '../shells/dialect';
import type { Command } from './command';
import type { SessionDirectory } from './session-directory';
import { StandardInput } from './standard-input';

/** The files a session's commands are given: their text, their preparation, their input. None outlives its command. */
export class SessionFiles {
  private readonly inputs = new Map<Command, StandardInput>();
  /** The foreground's text has a file that stays open: making one would cost more than the command. */
  private readonly text: number;
  private textLength = 0;

  constructor(readonly directory: SessionDirectory) {
    this.text = openSync(directory.file('c'), 'w', 0o600);
  }

  /** A foreground command's text; the one before it is no longer read. */
  writeForeground(text: string): string {
    const length = writeSync(this.text, text, 0);
    if (length < this.textLength) ftruncateSync(this.text, length);
    this.textLength = length;
    return inDirectory('c');
  }

  /** A background command's text, which it may read later than the next command starts. */
  writeBackground(command: Command, text: string): string {
    return this.write(command, `c.${command.number}`, text);
  }

  /** The text that gives a command its own directory and environment, if it has such. */
  prepare(command: Command, dialect: ShellDialect): string | undefined {
    const { overrides } = command.request;
    return overrides === undefined
      ? undefined
      : this.write(command, `p.${command.number}`, dialect.preparation(overrides));
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
    this.inputs.set(command, new StandardInput());
  }

  input(command: Command): StandardInput | undefined {
    return this.inputs.get(command);
  }

  closeInput(command: Command): void {
    this.inputs.get(command)?.dispose();
    this.inputs.delete(command);
  }

  dispose(): void {
    for (const input of this.inputs.values()) input.dispose();
    this.inputs.clear();
    closeSync(this.text);
    this.directory.remove();
  }

  private stdin(command: Command, slot: Slot): string {
    const { stdin } = command.request;
    if (stdin.kind === 'none') return '/dev/null';
    if (stdin.kind === 'text') return this.write(command, `stdin.${command.number}`, stdin.text);
    const fifo = `i${slot.number}`;
    this.inputs.get(command)?.open(this.directory.file(fifo));
    return inDirectory(fifo);
  }

  private write(command: Command, name: string, text: string): string {
    const path = this.directory.write(name, text);
    void command.finished.then(() => rmSync(path, { force: true }));
    return inDirectory(name);
  }
}
