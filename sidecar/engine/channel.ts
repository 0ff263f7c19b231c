import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { readSocket } from '../output/fifo';

/** A record from the shell: its kind and three fields, what they mean depends on the kind. */
export type Record4 = readonly [kind: string, number: string, value: string, cwd: string];

const longestRecord = 64 * 1024;
const retryMs = 20;
const recordMark = '\x01=';
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The two FIFOs between a session and its shell: lines to it, records from it. They outlive the shell, so a restarted one
 * uses the same; and both are held open here, so neither side ever sees an end of file.
 */
export class Channel {
  /** For the shell, as its stdin: the shell must block where the sidecar must not. */
  readonly shellInput: number;
  private readonly input: number;
  private readonly hold: number;
  private control: number;
  private socket: Socket;
  private partial = '';
  private lastDirectory: readonly [latin1: string, text: string] = ['', ''];
  private isDisposed = false;

  constructor(
    inputPath: string,
    private readonly controlPath: string,
    private readonly onRecord: (record: Record4) => void,
  ) {
    const opened: number[] = [];
    const open = (path: string, flags: number) => {
      const fd = openSync(path, flags);
      opened.push(fd);
      return fd;
    };
    try {
      this.shellInput = open(inputPath, constants.O_RDWR);
      this.input = open(inputPath, constants.O_RDWR | constants.O_NONBLOCK);
      this.hold = open(controlPath, constants.O_RDWR | constants.O_NONBLOCK);
      this.control = open(controlPath, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      for (const fd of opened) closeSync(fd);
      throw error;
    }
    this.socket = this.listen();
  }

  /** Reads records as they come. A read that fails must not be the last: then no command would ever end. */
  private listen(): Socket {
    const socket = readSocket(this.control, (data) => this.receive(data));
    socket.on('error', () => this.listenAgain());
    return socket;
  }

  private listenAgain(): void {
    if (this.isDisposed) return;
    try {
      this.control = openSync(this.controlPath, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      // No descriptor is free, or the directory was just removed and is about to be made again.
      setTimeout(() => this.listenAgain(), retryMs).unref();
      return;
    }
    this.socket = this.listen();
  }

  /** Sends lines to the shell; whether they were taken, which a shell that does not read for long can prevent. */
  send(lines: string): boolean {
    if (this.isDisposed) return false;
    try {
      writeSync(this.input, lines);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      throw error;
    }
  }

  /** Reads the records that are already there, for when it matters what came first. */
  drainRecords(): void {
    // Not with what is listened to: after a read that failed its number is closed, and soon another file's.
    for (const data of this.takeAll(this.hold)) this.receive(data);
  }

  /** Takes back the lines that no shell has read, so that the next shell does not find them. */
  takeBackLines(): string {
    let lines = '';
    for (const data of this.takeAll(this.input)) lines += Buffer.from(data).toString();
    return lines;
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.socket.destroy();
    for (const fd of [this.shellInput, this.input, this.hold]) closeSync(fd);
  }

  private *takeAll(fd: number): Generator<Uint8Array> {
    while (!this.isDisposed) {
      let count: number;
      try {
        count = readSync(fd, scratch, 0, scratch.length, null);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EINTR') continue;
        return;
      }
      if (count === 0) return;
      yield scratch.subarray(0, count);
    }
  }

  /** A record begins with a mark, so that what a user's trap may have printed in between is passed over. */
  private receive(data: Uint8Array): void {
    const text = this.partial + Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1');
    let at = 0;
    for (;;) {
      const kindEnd = text.indexOf('\0', at);
      if (kindEnd < 0) break;
      const markAt = kindEnd - recordMark.length - 1;
      if (markAt < at || !text.startsWith(recordMark, markAt)) {
        at = kindEnd + 1;
        continue;
      }
      const numberEnd = text.indexOf('\0', kindEnd + 1);
      const valueEnd = numberEnd < 0 ? -1 : text.indexOf('\0', numberEnd + 1);
      const cwdEnd = valueEnd < 0 ? -1 : text.indexOf('\0', valueEnd + 1);
      if (cwdEnd < 0) break;
      at = cwdEnd + 1;
      this.onRecord([
        text.slice(kindEnd - 1, kindEnd),
        text.slice(kindEnd + 1, numberEnd),
        text.slice(numberEnd + 1, valueEnd),
        this.decoded(text.slice(valueEnd + 1, cwdEnd)),
      ]);
    }
    this.partial = at === text.length ? '' : text.slice(at).slice(-longestRecord);
  }

  /** A directory's name as text; mostly it is the same as the last time. */
  private decoded(latin1: string): string {
    if (latin1 !== this.lastDirectory[0]) this.lastDirectory = [latin1, Buffer.from(latin1, 'latin1').toString()];
    return this.lastDirectory[1];
  }
}
