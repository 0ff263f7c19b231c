import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

const retryMs = 5;

/** The standard input of a command that is kept open: written to now and then, ended when asked. */
export class StandardInput {
  private hold: number | undefined;
  private socket: Socket | undefined;
  private path = '';
  private early = '';
  private isEnding = false;
  private isDisposed = false;
  private hasOpened: ((path: string) => boolean) | undefined;

  /** The command is about to start and will read from this FIFO; what was written before comes first. */
  open(path: string): void {
    this.path = path;
    // A reader of our own, because a FIFO without one cannot be opened for writing.
    this.hold = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.socket = new Socket({ fd, readable: false, writable: true });
    this.socket.on('error', () => {});
    if (this.early !== '') this.socket.write(this.early);
    this.early = '';
    this.finishIfAsked();
  }

  /** The FIFO, once the command is to read from it. */
  get fifo(): string | undefined {
    return this.path === '' ? undefined : this.path;
  }

  get isOpen(): boolean {
    return !this.isEnding && !this.isDisposed;
  }

  /** Resolves when the command has room for it; false if it went away meanwhile. */
  write(data: string): Promise<boolean> {
    const { socket } = this;
    if (socket === undefined) {
      this.early += data;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const onClose = () => resolve(false);
      socket.once('close', onClose);
      socket.write(data, (error) => {
        socket.off('close', onClose);
        resolve(error === null || error === undefined);
      });
    });
  }

  /** Lets the command read end of file. Not before it has opened its end: that would make its opening block for good. */
  end(hasOpened: (path: string) => boolean): void {
    if (!this.isOpen) return;
    this.isEnding = true;
    this.hasOpened = hasOpened;
    this.finishIfAsked();
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.socket?.destroy();
    if (this.hold !== undefined) closeSync(this.hold);
  }

  private finishIfAsked(): void {
    if (this.isDisposed || this.hasOpened === undefined || this.socket === undefined) return;
    if (this.hasOpened(this.path)) this.socket.end();
    else setTimeout(() => this.finishIfAsked(), retryMs);
  }
}
