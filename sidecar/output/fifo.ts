import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';

/**
 * One buffer serves all readers: what is read is handed on before anything else is read. Less than 64 KiB, so that what a
 * kill can lose is not more than that together with the bytes of a character that the read before cut in two.
 */
const shared = Buffer.allocUnsafeSlow(60 * 1024);

/**
 * What is taken at once. A FIFO holds no more than this, so everything that was in it is taken; and whoever goes on printing
 * as fast as it is read does not keep everybody else waiting.
 */
const mostAtOnce = 1024 * 1024;

/** A read that fails is tried again, so often. */
const mostFailures = 5;

export type Receive = (data: Uint8Array) => void;

/** What a FIFO had to say: more may come, or nobody has it open for writing. */
export type Drained = 'open' | 'closed';

/** A socket on a non-blocking FIFO. `createReadStream` would block a thread of the pool for each FIFO. */
export function readSocket(fd: number, receive: Receive): Socket {
  const onread = {
    buffer: shared,
    callback(count: number, buffer: Uint8Array): boolean {
      receive(buffer.subarray(0, count));
      return true;
    },
  };
  const options: SocketConstructorOpts & { onread: typeof onread } = { fd, readable: true, writable: false, onread };
  const socket = new Socket(options);
  socket.resume();
  return socket;
}

/** Whether nobody has a FIFO open, for reading or for writing. */
export function isFifoUnused(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') return false;
  }
  const reader = new FifoReader(path);
  reader.open(() => {});
  try {
    return reader.drain() === 'closed';
  } finally {
    reader.close();
  }
}

/**
 * The reading end of a FIFO. While it is only drained its descriptor can be kept and used for one command after the other;
 * following it costs a socket, so that is done only for commands that take their time.
 */
export class FifoReader {
  private fd: number | undefined;
  private socket: Socket | undefined;
  private failures = 0;
  private receive: Receive = () => {};

  constructor(readonly path: string) {}

  /** Opens it, if it is not open, and sends what comes to `receive`. */
  open(receive: Receive): void {
    this.receive = receive;
    this.fd ??= openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** Takes everything that is there now. */
  drain(): Drained {
    let taken = 0;
    for (let failures = 0; this.fd !== undefined; ) {
      if (taken >= mostAtOnce) return 'open';
      let count: number;
      try {
        count = readSync(this.fd, shared, 0, shared.length, null);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN') return 'open';
        if (code !== 'EINTR' && ++failures > mostFailures) throw error;
        continue;
      }
      if (count === 0) return 'closed';
      taken += count;
      this.receive(shared.subarray(0, count));
    }
    return 'closed';
  }

  get isFollowed(): boolean {
    return this.socket !== undefined;
  }

  /** Passes on what comes as it comes, until the last writer closes it. Only for a FIFO that has a writer. */
  follow(onEnd: () => void): void {
    if (this.fd === undefined || this.socket !== undefined) return;
    const socket = readSocket(this.fd, (data) => this.receive(data));
    this.socket = socket;
    const end = () => {
      if (this.socket !== socket) return;
      this.close();
      onEnd();
    };
    socket.on('error', () => {
      // Whoever prints still holds the FIFO and what is in it: to take the error for the end would lose that.
      if (this.socket !== socket) return;
      if (++this.failures <= mostFailures && this.reopen()) return this.follow(onEnd);
      this.close();
      onEnd();
    });
    socket.on('end', end);
    socket.on('close', end);
  }

  private reopen(): boolean {
    this.close();
    try {
      this.fd = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    const { socket, fd } = this;
    this.socket = undefined;
    this.fd = undefined;
    if (socket !== undefined) socket.destroy();
    else if (fd !== undefined) closeSync(fd);
  }
}
