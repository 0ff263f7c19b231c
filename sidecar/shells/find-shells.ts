import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { failure } from '../../protocol/errors';
import { bash } from './bash';
import type { ShellDialect } from './dialect';
import { zsh } from './zsh';

const dialects: readonly ShellDialect[] = [bash, zsh];

export interface Shell {
  dialect: ShellDialect;
  path: string;
}

export interface ShellDescription {
  name: string;
  path: string;
  version: string;
}

/** The shell a user asked for by name or path, or the first one there is. */
export function findShell(wanted: string | undefined, searchPath: string | undefined): Shell {
  if (wanted === undefined) {
    const found = available(searchPath)[0];
    if (found === undefined) throw failure.shellNotFound('bash', []);
    return found;
  }
  const dialect = dialects.find(({ name }) => name === basename(wanted));
  const path = wanted.includes('/') ? (isExecutable(wanted) ? wanted : undefined) : locate(wanted, searchPath);
  const known = available(searchPath).map(({ dialect: { name } }) => name);
  if (path === undefined || !isAbsolute(path)) throw failure.shellNotFound(wanted, known);
  if (dialect === undefined) {
    throw failure.notSupported(
      `${basename(wanted)} cannot be the shell of a session. Use one of: ${dialects.map(({ name }) => name).join(', ')}.`,
    );
  }
  return { dialect, path };
}

/** The shells on this machine that can be a session's, with their versions. */
export async function describeShells(searchPath: string | undefined): Promise<ShellDescription[]> {
  return Promise.all(
    available(searchPath).map(async ({ dialect: { name }, path }) => ({ name, path, version: await versionOf(path) })),
  );
}

function available(searchPath: string | undefined): Shell[] {
  return dialects.flatMap((dialect) => {
    const path = locate(dialect.name, searchPath);
    return path === undefined ? [] : [{ dialect, path }];
  });
}

function locate(name: string, searchPath: string | undefined): string | undefined {
  const folders = (searchPath ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return [...folders, '/bin', '/usr/bin', '/usr/local/bin'].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 5000 });
    return /\d+(\.\d+)+\S*/.exec(stdout)?.[0] ?? '';
  } catch {
    return '';
  }
}
