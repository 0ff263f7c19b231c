import fs from 'node:fs';

/** Whether nobody else can put anything into a directory: what is found in another one is not to be trusted. */
export function isOwnDirectory(path: string): boolean {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || process.getuid === undefined) return true;
  return found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0;
}
