import type { Slot } from '../output/slot';
import { plainReport, putBack } from '../shells/dialect';
import type { Command } from './command';
import type { SessionFiles } from './command-files';
import { descriptorsNamed, forbidsInline, setsExitTrap, setsTrap } from './command-words';
import type { ShellHost } from './shell-host';

/** What the user may have done so far that makes a difference to how commands are given. */
export interface Habits {
  /** Nothing: a builtin does the same in a file and without one. */
  mayInline: boolean;
  /** Set a trap. */
  mayTrap: boolean;
  /** Given one of our words to a function, so reports must do without. */
  isShadowed: boolean;
}

/** Words the lines with which the shell is given foreground commands, and is made to report them. */
export class CommandLines {
  private habits: Habits;

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
  ) {
    this.habits = { mayInline: host.startsPlain, mayTrap: !host.startsPlain, isShadowed: false };
  }

  get known(): Readonly<Habits> {
    return this.habits;
  }

  /** Goes on with what another sidecar knew. */
  resume({ mayInline, mayTrap, isShadowed }: Habits): void {
    this.habits = { mayInline, mayTrap, isShadowed };
  }

  /** What a command may change for itself and those after it. Whoever compares sees another object only if it does. */
  note(text: string): void {
    const { mayInline, mayTrap } = this.habits;
    if (mayInline && forbidsInline.test(text)) this.habits = { ...this.habits, mayInline: false };
    if (!mayTrap && setsTrap.test(text)) this.habits = { ...this.habits, mayTrap: true };
  }

  /** A report was lost to something that the user has named as one of our words. */
  noteShadow(): void {
    if (!this.habits.isShadowed) this.habits = { ...this.habits, isShadowed: true };
  }

  /** What runs a command, and reports it. */
  line(command: Command, slot: Slot): string {
    const { host, files } = this;
    const { isShadowed } = this.habits;
    // What is done for a trap before the command is undone in the line that is replaced below.
    const mayTrap = this.habits.mayTrap && !isShadowed;
    const { flags, lastStatus } = host;
    const { number, request } = command;
    const line = host.dialect.foreground({
      number,
      run: this.inline(request.text) ?? this.source(request.text),
      files: files.streams(command, slot),
      announce: host.announced !== number,
      prepared: files.prepare(command, host.dialect),
      descriptors: descriptorsNamed(request.text),
      ...{ flags, lastStatus, mayTrap },
      setsExitTrap: mayTrap && setsExitTrap(request.text),
    });
    if (!isShadowed) return line;
    // The line that is replaced also puts back what was lent to the command, and tells of the directory after that.
    const undo = request.overrides === undefined ? '' : putBack;
    return line.replace(/[^\n]*\n$/, () => this.plainReport(number, `__lmp_s=$?;${undo}`));
  }

  /** The report alone, once more. */
  report(number: number): string {
    const { dialect } = this.host;
    return this.habits.isShadowed ? this.plainReport(number, dialect.recall(number)) : dialect.report(number);
  }

  private inline(text: string): string | undefined {
    return this.habits.mayInline ? this.host.dialect.inline(text) : undefined;
  }

  private source(text: string): string {
    const { dialect, flags, lastStatus } = this.host;
    return `\\. ${this.files.writeForeground(dialect.commandText(text, { flags, lastStatus, isBackground: false }))}`;
  }

  private plainReport(number: number, status: string): string {
    return plainReport(number, this.files.directory.file('ctl'), this.host.dialect, status);
  }
}
