import { existsSync } from 'node:fs';

/** Where a session's shell finds its FIFOs and files; all inside the session's runtime directory. */
export interface ShellFiles {
  directory: string;
  /** Records from the shell to the sidecar. */
  control: string;
  /** State of the shell, taken now and then, to restore it from. */
  snapshot: string;
  /** Reports of background commands, which survive a sidecar that read them and died. */
  status: string;
}

/** A command's text and streams, each as a word of the shell's language. */
export interface CommandFiles {
  text: string;
  stdin: string;
  stdout: string;
  stderr: string;
}

/** What one command gets instead of the session's. */
export interface Overrides {
  cwd?: string;
  env: Readonly<Record<string, string>>;
}

export type Profile = 'clean' | 'user';

export interface ForegroundLine {
  number: number;
  /** What runs the command's text: a source of its file, or the text itself. */
  run: string;
  files: Omit<CommandFiles, 'text'>;
  /** `$?` as the command shall see it. */
  lastStatus: number;
  /** Whether the shell does not yet export this number as its command id. */
  announce: boolean;
  /** The file with the command's preparation, as a word. */
  prepared: string | undefined;
  /** What the shell said of itself with its last report: its `$-`, or as much as its dialect has it say. */
  flags: string;
  /** Whether the user may have set a trap. */
  mayTrap: boolean;
  /** Whether this command may set one on the shell's exit. */
  setsExitTrap: boolean;
  /** Descriptors that the text opens or closes for the whole shell, by number. */
  descriptors: readonly number[];
}

export type BackgroundLine = Pick<ForegroundLine, 'number' | 'prepared' | 'lastStatus'> & { files: CommandFiles };

/**
 * What a kind of shell needs to be told, in its own language. The lines run at the shell's top level: inside a function
 * `declare` would make locals and the user's state would be lost.
 */
export interface ShellDialect {
  readonly name: string;
  /** Makes a shell whose child was killed leave out the rest of the command. */
  readonly abandonSignal: NodeJS.Signals;
  /** Whether it prints a newline when a program it runs dies of an interrupt. */
  readonly endsLineOnInterrupt: boolean;
  /** How to start it interactively. */
  arguments(bootFile: string, profile: Profile): string[];
  /** Defines the wrapper's functions; read once when the shell starts. */
  boot(files: ShellFiles, sessionId: string, profile: Profile): string;
  /** Lines that finish the start, restore a snapshot and make the shell report that it is ready. */
  ready(nextNumber: number, restoreFile: string | undefined, bootFile: string): string;
  /** A command as it is written to its file. */
  commandText(command: string, before: { flags: string; lastStatus: number; isBackground: boolean }): string;
  /** Runs a text without a file, if it is so plain that nobody can tell the difference: a file takes a tenth of the time. */
  inline(text: string): string | undefined;
  /** A file's text that gives one command its own directory and variables. */
  preparation(overrides: Overrides): string;
  /** Runs a command in the foreground: one line runs it, the next reports, even when the first was interrupted. */
  foreground(command: ForegroundLine): string;
  /** The reporting line alone, sent again after a signal that may have swallowed it. */
  report(number: number): string;
  /** After a command that may have changed what that needs: makes sure that the shell runs files, and takes a true snapshot when it ends. */
  rearm(): string;
  /** After a command that was interrupted: nothing of that may be left for the next. */
  afterInterrupt(): string;
  /** Sets __lmp_s to the status of a command whose report was lost: $? is that of the report by then, if it was made at all. */
  recall(number: number): string;
  /** Assignments by which the shell remembers that it reported a command, whose status is in __lmp_s, and begins the next. */
  remember(number: number): string;
  /** Makes the shell repeat its last report, and tell the last background command it was given, as an answer to this question: one word. */
  again(question: string): string;
  /** Notes that it was given the command, then runs it in a subshell of its own that reports how it ended. */
  background(command: BackgroundLine): string;
  /** Takes a snapshot of the shell's state, as it is after this command. */
  snapshot(upTo: number): string;
  /** Makes the shell tell whether it can still open what a command needs; nothing where it could not even tell. */
  canOpen(question: number): string | undefined;
  /** With fewer descriptors it runs no command as it should. */
  readonly fewestDescriptors: number;
  /** What it may report of any command with too few of them. */
  readonly statusesWithoutDescriptors: readonly number[];
}

/** One word that the shell takes literally. */
export const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A file of the session's directory, short: zsh reads its lines a byte at a time. */
export const inDirectory = (name: string) => `"$__lmp/${name}"`;

/**
 * Sets `$?` for what follows, unless it is 0 in any case; neither `set -e` nor a trap on ERR takes it for a failure. Redirected,
 * because the words it needs may be functions of the user's, and what they print is not the command's.
 */
export const afterStatus = (status: number) => (status === 0 ? '' : `__lmp_r ${status} >/dev/null&&:;`);

/**
 * Where the shell's own words go. Not to /dev/null, where a user sends those of a command: by that it is seen from outside
 * whether the shell is inside one.
 */
export const nowhere = '/dev/zero';

/** Signals that would end what reports a background command. */
export const outlived = 'HUP TERM USR1 USR2 ALRM';

/** How a line begins that runs a text without a file. */
export const inlined = "\\eval '";

/**
 * Takes away a user's function called `.`, and a `.` that was disabled: no command could be run any more. Redirected, because
 * these words may be functions too, and must not read the lines that follow.
 */
export const freeDot = `{ \\unset -f .;\\builtin enable .;} </dev/null >${nowhere} 2>&1||:`;

/** Has a slash in its name, so that a shell takes it for nothing else. */
export const printfProgram = ['/usr/bin/printf', '/bin/printf'].find((path) => existsSync(path)) ?? 'printf';

/** Takes back the directory and variables that were given to one command. */
export const putBack = '\\eval "$__lmp_undo";__lmp_undo=;';

/**
 * A report that calls nothing by a name the user could have given to a function; it costs a process. `status` sets __lmp_s.
 * Only where no program can be run, because more is exported than one can be given, a builtin has to do.
 */
export function plainReport(number: number, control: string, dialect: ShellDialect, status: string): string {
  const record = `'\\1=D\\0%s\\0%s\\0%s\\0' ${number} "$__lmp_s $-" "\${PWD-}" 1<>${quote(control)}`;
  return `${status}${printfProgram} ${record}||\\builtin printf ${record};${dialect.remember(number)}\n`;
}
