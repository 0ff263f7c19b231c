import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { fastDirectory } from '../directory';

/** Runs a command whose output goes through a pipe into this process and is thrown away; answers with the bytes seen. */
export async function drainPipe(command: string): Promise<number> {
  const directory = await fastDirectory('pipe');
  const path = join(directory, 'out');
  execFileSync('mkfifo', ['-m', '600', path]);
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  const reader = new Socket({ fd: readFd, readable: true, writable: false });
  let bytes = 0;
  reader.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', writeFd, 'ignore'] });
  closeSync(writeFd);
  await Promise.all([once(child, 'close'), once(reader, 'close')]);
  await rm(directory, { recursive: true, force: true });
  return bytes;
}

/** The same through the socket that `spawn` makes for stdout, whose larger buffer moves more per wake-up than a pipe. */
export async function drainSpawned(command: string): Promise<number> {
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] });
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(child, 'close');
  return bytes;
}
