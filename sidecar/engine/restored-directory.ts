import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { own, removeIfPossible, spareName } from './sweep';

const deleted = ' (deleted)';

/**
 * Makes a session's directory again that somebody removed. Its FIFOs are gone by name only: whoever keeps them open still has
 * them, and a link into what the kernel shows of that process leads to the very same ones. So whatever runs in the session
 * notices nothing. `inputs` are FIFOs that are made anew where nobody has them, and `fill` puts the rest into a directory.
 */
export function restoreDirectory(
  directory: string,
  inputs: readonly string[],
  keepers: readonly number[],
  fill: (directory: string) => void,
): void {
  const aside = join(dirname(directory), spareName(basename(directory)));
  try {
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    own(aside);
    for (const [name, link] of keepers.flatMap((pid) => keptBy(pid, directory))) {
      if (!existsSync(join(aside, name))) symlinkSync(link, join(aside, name));
    }
    const missing = inputs.map((name) => join(aside, name)).filter((path) => !existsSync(path));
    if (missing.length > 0) execFileSync('mkfifo', ['-m', '600', ...missing]);
    fill(aside);
    // In one step: a command that finds a part of it would make files where FIFOs belong.
    if (!existsSync(directory)) renameSync(aside, directory);
    // The command's text comes before what it prints to.
    else for (const name of readdirSync(aside).toSorted()) moveUnlessThere(join(aside, name), join(directory, name));
  } finally {
    removeIfPossible(aside);
  }
}

/** Somebody was about to remove the directory, and did not come to its end; a plain file is what a command made meanwhile. */
function moveUnlessThere(from: string, to: string): void {
  if (statSync(to, { throwIfNoEntry: false })?.isFIFO() !== true) renameSync(from, to);
}

/** The names of what a process has open of a directory and that is gone from it, and where each can still be found. */
function keptBy(pid: number, directory: string): [name: string, link: string][] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    const link = `/proc/${pid}/fd/${fd}`;
    const path = readlinkSync(link);
    const isGone = path.endsWith(deleted) && dirname(path) === directory;
    return isGone ? [[basename(path).slice(0, -deleted.length), link] as [string, string]] : [];
  });
}
