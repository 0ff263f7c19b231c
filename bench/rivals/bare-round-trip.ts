import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { fastDirectory } from '../directory';
import type { Rival } from './rival';

/**
 * The bare mechanism: an interactive shell that sources an empty file with its streams on FIFOs and reports through another.
 * It is asked to do nothing, and nobody reads, logs or knows anything; what the engine takes beyond this is its own.
 */
export async function bareRoundTrip(): Promise<Rival> {
  const directory = await fastDirectory('bare');
  const file = (name: string) => join(directory, name);
  execFileSync('mkfifo', ['-m', '600', file('in'), file('ctl'), file('o'), file('e')]);
  writeFileSync(file('c'), '');
  const inputFd = openSync(file('in'), constants.O_RDWR);
  const held = ['o', 'e'].map((name) => openSync(file(name), constants.O_RDONLY | constants.O_NONBLOCK));
  const reader = new Socket({ fd: openSync(file('ctl'), constants.O_RDWR | constants.O_NONBLOCK), writable: false });
  const shell = spawn('bash', ['--norc', '--noprofile', '--noediting', '-i'], {
    stdio: [inputFd, 'ignore', 'ignore'],
    detached: true,
  });
  const lines = `. ${file('c')} </dev/null 1<>${file('o')} 2<>${file('e')}\nprintf '%s\\0' $? "$PWD" 1<>${file('ctl')}\n`;
  let arrived = () => {};
  reader.on('data', () => arrived());
  return {
    name: 'the bare round trip',
    run() {
      return new Promise((resolve) => {
        arrived = resolve;
        writeSync(inputFd, lines);
      });
    },
    async dispose() {
      writeSync(inputFd, 'exit\n');
      await once(shell, 'close');
      reader.destroy();
      for (const fd of [inputFd, ...held]) closeSync(fd);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
