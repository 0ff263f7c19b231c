import { randomBytes } from 'node:crypto';
import fs from 'node:fs';

export interface Token {
  value: string;
  /** Where a token made here can be read by its owner; null for one that was given. */
  path: string | null;
  remove(): void;
}

export function obtainToken(given: string | undefined, runtimeDir: string, port: number): Token {
  if (given !== undefined) return { value: given, path: null, remove: () => undefined };
  const value = randomBytes(32).toString('base64url');
  const path = `${runtimeDir}/http-${port}.token`;
  fs.rmSync(path, { force: true });
  fs.writeFileSync(path, value, { mode: 0o600, flag: 'wx' });
  return { value, path, remove: () => fs.rmSync(path, { force: true }) };
}
