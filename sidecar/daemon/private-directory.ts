import fs from 'node:fs';
import { Refusal } from './refusal';

/** Makes sure that `path` is a directory of this user alone: made if missing, tightened if ours, refused if not. */
export function preparePrivateDirectory(path: string): void {
  try {
    fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw Refusal.notADirectory(path);
    throw Refusal.cannotMake(path, code ?? 'unknown');
  }
  const found = fs.lstatSync(path);
  if (!found.isDirectory()) throw Refusal.notADirectory(path);
  const uid = process.getuid?.();
  if (uid !== undefined && found.uid !== uid) throw Refusal.unsafeDirectory(path);
  if ((found.mode & 0o077) === 0) return;
  // What others may have put there while they could is not to be trusted.
  if ((found.mode & 0o022) !== 0) throw Refusal.unsafeDirectory(path);
  fs.chmodSync(path, 0o700);
}
