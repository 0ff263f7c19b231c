import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { identify, isAlive, type ProcessIdentity, signalProcess } from '../processes/identity';
import { keeping } from './keeper';

const retryMs = 5;
/** A look for whoever has opened it goes through every process of the machine, and a command may never do. */
const longestRetryMs = 250;

/** What a FIFO takes while nobody reads it. More that comes before its command's turn waits, as it does later. */
const mostEarlyBytes = 64 * 1024;

/** A command that nobody has kept the input of is taken to run if it was not started anew by then. */
const certainAfterMs = 5000;

interface Notes {
  /** Input was taken that the command cannot be given yet. */
  early(data: Buffer): void;
  /** This process keeps the input open should the sidecar be gone. */
  kept(keeper: ProcessIdentity): void;
}

/** The standard input of a command that is kept open: written to now and then, ended when asked. */
export class StandardInput {
  private hold: number | undefined;
  private socket: Socket | undefined;
  private path = '';
  private late: { data: Buffer; answer: (isTaken: boolean) => void }[] = [];
  /** Who waits for what was written to be taken. */
  private readonly unsent = new Set<(isTaken: boolean) => void>();
  /** Nobody has kept it, so its command has read its end, unless it has yet to be started. */
  private isUncertain = false;
  private hasReadEnd = false;
  private isEnding = false;
  private isDisposed = false;
  private hasOpened: ((path: string) => boolean) | undefined;
  private isOpened = false;
  private lookAgainMs = retryMs;
  private keeper: ProcessIdentity | undefined;

  /** `early` is what was written before the command could be given it. */
  constructor(
    private readonly early: Buffer[],
    private readonly notes: Notes,
  ) {}

  /** The command is about to start and will read from this FIFO; what was written before comes first. */
  open(path: string): void {
    // A sidecar that is gone had opened it for a command that it did not come to start.
    if (this.socket !== undefined) return;
    this.isUncertain = false;
    this.hasReadEnd = false;
    const socket = this.connect(path);
    // All at once, for which there is room: in pieces it takes more.
    if (this.early.length > 0) socket.write(Buffer.concat(this.early));
    for (const { data, answer } of this.late.splice(0)) void this.send(socket, data).then(answer);
    // Before the command can read: its input must not end with a sidecar that is killed in the next moment.
    this.keep();
    this.finishIfAsked();
  }

  /** Goes on with the input of a command that already runs, or was about to. */
  resume(path: string, keeper: ProcessIdentity | undefined): void {
    if (keeper === undefined || !isAlive(keeper)) {
      this.isUncertain = true;
      setTimeout(() => this.giveUp(), certainAfterMs).unref();
      return;
    }
    this.keeper = keeper;
    this.early.length = 0;
    this.connect(path);
  }

  /** The process that keeps the input, which is none of the command's. */
  get keptBy(): ProcessIdentity[] {
    return this.keeper === undefined ? [] : [this.keeper];
  }

  /** The FIFO, once the command is to read from it. */
  get fifo(): string | undefined {
    return this.path === '' ? undefined : this.path;
  }

  get isOpen(): boolean {
    return !this.isEnding && !this.isDisposed && !this.hasReadEnd;
  }

  /** By now a shell that was never given the command would have said so. */
  private giveUp(): void {
    if (!this.isUncertain) return;
    this.hasReadEnd = true;
    this.refuseLate();
  }

  private refuseLate(): void {
    for (const { answer } of this.late.splice(0)) answer(false);
  }

  /** Resolves when the command has room for it; false if it went away meanwhile. */
  write(data: Buffer): Promise<boolean> {
    const { socket, early, late } = this;
    if (socket !== undefined) return this.send(socket, data);
    const isRoom = early.reduce((sum, { length }) => sum + length, data.length) <= mostEarlyBytes;
    if (this.isUncertain || !isRoom || late.length > 0) {
      return new Promise((answer) => {
        late.push({ data, answer });
      });
    }
    early.push(data);
    this.notes.early(data);
    return Promise.resolve(true);
  }

  private send(socket: Socket, data: Buffer): Promise<boolean> {
    return new Promise((answer) => {
      this.unsent.add(answer);
      socket.write(data, (error) => {
        this.unsent.delete(answer);
        // Of one that was cut short by its end, a socket that was destroyed says no error.
        answer(!error && !socket.destroyed);
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

  /** Lets go of it without the command's noticing: another sidecar goes on with it. */
  leave(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.refuseLate();
    this.socket?.destroy();
    if (this.hold !== undefined) closeSync(this.hold);
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.letGo();
    this.early.length = 0;
    this.leave();
  }

  private finishIfAsked(): void {
    if (this.isDisposed || this.hasOpened === undefined || this.socket === undefined) return;
    this.isOpened ||= this.hasOpened(this.path);
    if (!this.isOpened) {
      this.finishLater(this.lookAgainMs);
      this.lookAgainMs = Math.min(2 * this.lookAgainMs, longestRetryMs);
      return;
    }
    // Not before: what was written would be gone with this process.
    this.letGo();
    if (this.keeper !== undefined && isAlive(this.keeper)) this.finishLater(retryMs);
    else this.socket.end();
  }

  private finishLater(ms: number): void {
    setTimeout(() => this.finishIfAsked(), ms);
  }

  private connect(path: string): Socket {
    this.path = path;
    // A reader of our own, because a FIFO without one cannot be opened for writing.
    this.hold = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.socket = new Socket({ fd, readable: false, writable: true });
    this.socket.on('error', () => {});
    // What was being written then is not answered otherwise.
    this.socket.on('close', () => {
      for (const answer of this.unsent) answer(false);
      this.unsent.clear();
    });
    return this.socket;
  }

  /** Somebody may have ended the process that keeps it, and none keeps it if the sidecar dies then. */
  keepAgain(): void {
    const isKept = this.keeper === undefined || isAlive(this.keeper);
    if (isKept || this.isEnding || this.isDisposed || this.socket?.destroyed !== false) return;
    try {
      this.keep();
    } catch {
      // For want of descriptors or memory; it is tried again at the next look.
    }
  }

  /** Has another process hold the input open as well: without one the command would read its end when the sidecar dies. */
  private keep(): void {
    const fd = openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
    let child: ChildProcess;
    try {
      child = spawn('/bin/sh', ['-c', `exec ${keeping}`], {
        cwd: '/',
        env: { PATH: process.env.PATH },
        stdio: ['ignore', fd, 'ignore'],
        detached: true,
      });
    } finally {
      closeSync(fd);
    }
    child.on('error', () => {});
    child.unref();
    this.keeper = child.pid === undefined ? undefined : identify(child.pid);
    if (this.keeper === undefined) return;
    this.early.length = 0;
    this.notes.kept(this.keeper);
  }

  private letGo(): void {
    if (this.keeper !== undefined) signalProcess(this.keeper, 'SIGKILL');
  }
}
