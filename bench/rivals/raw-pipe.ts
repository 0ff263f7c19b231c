import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { join } from 'node:path';
import { fastDirectory } from '../directory';

/** Tells a command that was made ready to begin; answers with the bytes that came, all of which are thrown away. */
export type Drain = () => Promise<number>;

/** How a pipe is read: as Node does it for everybody, or into a single buffer. */
export type Reading = (fd: number, count: (bytes: number) => void) => Socket;

export const withDataEvents: Reading = (fd, count) =>
  new Socket({ fd, readable: true, writable: false }).on('data', (chunk: Buffer) => count(chunk.length));

export const withOneBuffer: Reading = (fd, count) => {
  const onread = {
    buffer: Buffer.allocUnsafeSlow(64 * 1024),
    callback(bytes: number): boolean {
      count(bytes);
      return true;
    },
  };
  const options: SocketConstructorOpts & { onread: typeof onread } = { fd, readable: true, writable: false, onread };
  return new Socket(options).resume();
};

/** A command whose output goes through a pipe into this process. */
export async function pipeReady(command: string, reading = withDataEvents): Promise<Drain> {
  const directory = await fastDirectory('pipe');
  const path = join(directory, 'out');
  execFileSync('mkfifo', ['-m', '600', path]);
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  // Both ends are open, so nobody needs its name any more.
  await rm(directory, { recursive: true, force: true });
  let bytes = 0;
  const reader = reading(readFd, (more) => {
    bytes += more;
  });
  const child = spawn('bash', ['-c', toldToBegin(command)], { stdio: ['pipe', writeFd, 'pipe'] });
  closeSync(writeFd);
  await once(child.stderr as NonNullable<typeof child.stderr>, 'data');
  return async () => {
    const over = Promise.all([once(child, 'close'), once(reader, 'close')]);
    begin(child);
    await over;
    return bytes;
  };
}

/** The same through the socket that `spawn` makes for stdout, whose larger buffer moves more per wake-up than a pipe. */
export async function spawnedReady(command: string): Promise<Drain> {
  const child = spawn('bash', ['-c', toldToBegin(command)], { stdio: ['pipe', 'pipe', 'pipe'] });
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(child.stderr, 'data');
  return async () => {
    begin(child);
    await once(child, 'close');
    return bytes;
  };
}

export async function drainPipe(command: string): Promise<number> {
  const drain = await pipeReady(command);
  return drain();
}

/** The shell is there and waits, as a session's does. */
const toldToBegin = (command: string) => `echo ready >&2; read -r; ${command}`;

function begin(child: ChildProcess): void {
  child.stderr?.resume();
  child.stdin?.end('\n');
}
