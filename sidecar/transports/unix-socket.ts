import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Refusal } from '../daemon/refusal';

/** sun_path holds 108 bytes on Linux and 104 on macOS, with the NUL. */
const maxPathBytes = process.platform === 'darwin' ? 103 : 107;
const socketBuffer = 256 * 1024;
/** No pid is written like this. */
const lockSuffix = '0lock';

export interface ClaimedSocket {
  readonly server: net.Server;
  readonly path: string;
  /** False once someone else's socket stands at our path, or none. */
  isOurs(): boolean;
  /** Removes the socket's file if it is still ours. Synchronous, for the very end of the process. */
  unlink(): void;
}

/**
 * Listens on `socketPath`, 0600 from its first moment. A dead socket there is replaced; a live one, and anything that is
 * no socket, is refused and left alone. Of several that try at once exactly one succeeds: each listens under a name of its
 * own first, and only the holder of the lock (a link to its own live socket, so a crash frees it) moves into place.
 */
export async function claimSocket(
  socketPath: string,
  onConnection: (socket: net.Socket) => void,
): Promise<ClaimedSocket> {
  const own = `${socketPath}.${process.pid.toString(36)}`;
  const lock = `${socketPath}.${lockSuffix}`;
  if (Buffer.byteLength(own) > maxPathBytes) throw Refusal.pathTooLong(socketPath, maxPathBytes);

  const server = net.createServer({ allowHalfOpen: true, highWaterMark: socketBuffer, noDelay: true }, onConnection);
  await listen(server, own);
  try {
    await withLock(own, lock, socketPath, async () => {
      await refuseUnlessFree(socketPath);
      fs.renameSync(own, socketPath);
      removeRemains(socketPath);
    });
  } catch (thrown) {
    fs.rmSync(own, { force: true });
    server.close();
    throw thrown;
  }
  const { ino, dev } = fs.lstatSync(socketPath);
  const isOurs = () => {
    const now = fs.lstatSync(socketPath, { throwIfNoEntry: false });
    return now !== undefined && now.ino === ino && now.dev === dev;
  };
  return {
    server,
    path: socketPath,
    isOurs,
    unlink: () => {
      if (isOurs()) fs.rmSync(socketPath, { force: true });
    },
  };
}

/** Names that processes left which died while they tried. */
function removeRemains(socketPath: string): void {
  const prefix = `${path.basename(socketPath)}.`;
  for (const name of fs.readdirSync(path.dirname(socketPath))) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 36) : Number.NaN;
    if (name !== `${prefix}${pid.toString(36)}` || name === `${prefix}${lockSuffix}` || isRunning(pid)) continue;
    const left = path.join(path.dirname(socketPath), name);
    if (fs.lstatSync(left, { throwIfNoEntry: false })?.isSocket() === true) fs.rmSync(left, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function listen(server: net.Server, at: string): Promise<void> {
  fs.rmSync(at, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The socket is made inside listen(), so nothing else in the process sees this mask.
    const mask = process.umask(0o177);
    try {
      server.listen({ path: at, backlog: 4096 }, () => {
        server.off('error', reject);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

async function withLock(own: string, lock: string, wanted: string, work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      fs.linkSync(own, lock);
      break;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
    if (!(await isListening(lock))) fs.rmSync(lock, { force: true });
    else if (Date.now() > deadline) throw Refusal.alreadyServed(wanted);
    else await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
  }
  try {
    await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

async function refuseUnlessFree(socketPath: string): Promise<void> {
  const there = fs.lstatSync(socketPath, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isSocket()) throw Refusal.notASocket(socketPath);
  if (await isListening(socketPath)) throw Refusal.alreadyServed(socketPath);
}

/** A full backlog is alive too; only a refused connection means that nobody listens. */
export function isListening(at: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(at);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/** Makes the directory of a socket the user named, and refuses one where others could replace the socket. */
export function prepareSocketDirectory(socketPath: string): void {
  const directory = path.dirname(socketPath);
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { mode, uid } = fs.statSync(directory);
  const othersWrite = (mode & 0o022) !== 0;
  const sticky = (mode & 0o1000) !== 0;
  const foreign = uid !== process.getuid?.() && uid !== 0;
  if (foreign || (othersWrite && !sticky)) throw Refusal.unsafeDirectory(directory);
}
