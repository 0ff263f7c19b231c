import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { failure, LimpetError } from '../../protocol/errors';
import { type ShellExit, ShellProcess, type ShellReady, type ShellStart } from './shell-process';

export interface Restart extends Omit<ShellStart, 'restoreFile' | 'cwd'> {
  candidates: readonly string[];
  /** The environment for a shell that is restored: what the user has unset must not come back. */
  restoredEnv: Record<string, string>;
  /** Directories to begin in, the best first. */
  directories: readonly string[];
  exit: ShellExit;
  /** Whether the snapshot was taken when the shell ended, or before that. */
  isCurrent: boolean;
  /** Whether there shall be no shell any more. */
  isOver: () => boolean;
}

/** Starts a fresh shell in place of one that ended, with as much of its state as can be had, and says what that is. */
export async function restart(
  { candidates, restoredEnv, directories, exit, isCurrent, isOver, ...start }: Restart,
  onSpawn: (shell: ShellProcess) => void,
): Promise<{ ready: ShellReady; notes: string[] }> {
  const cwd = directories.find(isDirectory) ?? homedir();
  let failed: unknown;
  for (const restoreFile of [...candidates, undefined]) {
    if (isOver()) throw failure.sessionTerminated(start.sessionId);
    const env = restoreFile === undefined ? start.env : restoredEnv;
    let shell: ShellProcess | undefined;
    try {
      start.channel.takeBackLines();
      const ready = await ShellProcess.start({ ...start, env, cwd, restoreFile }, (spawned) => {
        shell = spawned;
        onSpawn(spawned);
      });
      const isRestored = restoreFile === undefined || !/^( |$)/.test(ready.restored);
      if (isRestored) return { ready, notes: [describe(exit, ready, isCurrent)] };
    } catch (error) {
      failed = error;
    }
    // It would read the lines that are meant for the next one.
    shell?.signal('SIGKILL');
    await shell?.exited;
    if (failed !== undefined && !(failed instanceof LimpetError)) throw failed;
  }
  throw failed;
}

export function isDirectory(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function describe({ code, signal }: ShellExit, { restored, cwd }: ShellReady, isCurrent: boolean): string {
  const how = signal === null ? `exited with ${code ?? 'an unknown status'}` : `was ended by ${signal}`;
  const when = isCurrent ? '' : ', as they were when the session was last idle';
  const [kind, gone] = restored.split(' ');
  const directory = gone === undefined ? 'directory, ' : '';
  const what = {
    all: `Restored: ${directory}variables, functions, aliases, options, umask and positional parameters${when}. Not restored: traps, open descriptors and the shell's list of jobs.`,
    environment: `Restored: ${directory.replace(', ', ' and ')}exported variables only${when}; the rest of the state could not be restored.`,
  }[kind ?? ''];
  const where = gone === undefined ? '' : ` The directory it was in is gone; it is in ${cwd} now.`;
  return `The shell ${how}; the session goes on in a fresh one. ${what ?? 'Restored: only the directory and environment the session was created with.'}${where}`;
}
