import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { fastDirectory } from '../directory';
import type { Rival } from './rival';

/**
 * An interactive shell that reads a line from a FIFO and answers with one byte through another, which it opens
 * for that (left open, every program it starts would inherit it). It runs nothing, captures nothing and knows no result.
 */
export async function answeringShell(): Promise<Rival> {
  const directory = await fastDirectory('answering');
  const [input, output] = [join(directory, 'in'), join(directory, 'out')];
  execFileSync('mkfifo', ['-m', '600', input, output]);
  const inputFd = openSync(input, constants.O_RDWR);
  const outputFd = openSync(output, constants.O_RDWR | constants.O_NONBLOCK);
  const reader = new Socket({ fd: outputFd, readable: true, writable: false });
  const shell = spawn('bash', ['--norc', '--noprofile', '--noediting', '-i'], {
    stdio: [inputFd, 'ignore', 'ignore'],
    detached: true,
  });
  const line = `printf x 1<>${output}\n`;
  let arrived = () => {};
  reader.on('data', () => arrived());
  return {
    name: 'a shell that only answers',
    run() {
      return new Promise((resolve) => {
        arrived = resolve;
        writeSync(inputFd, line);
      });
    },
    async dispose() {
      writeSync(inputFd, 'exit\n');
      await once(shell, 'close');
      reader.destroy();
      closeSync(inputFd);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
