import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { readSocket } from '../output/fifo';

/** A record from the shell: its kind and three fields, what they mean depends on the kind. */
export type Record4 = readonly [kind: string, number: string, value: string, cwd: string];

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
  private readonly control: number;
  private readonly socket: Socket;
  private partial = '';
  private isDisposed = false;

  constructor(
    inputPath: string,
    controlPath: string,
    private readonly onRecord: (record: Record4) => void,
  ) {
    this.shellInput = openSync(inputPath, constants.O_RDWR);
    this.input = openSync(inputPath, constants.O_RDWR | constants.O_NONBLOCK);
    this.hold = openSync(controlPath, constants.O_RDWR | constants.O_NONBLOCK);
    this.control = openSync(controlPath, constants.O_RDONLY | constants.O_NONBLOCK);
    this.socket = readSocket(this.control, (data) => this.receive(data));
    this.socket.on('error', () => {});
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
    for (const data of this.takeAll(this.control)) this.receive(data);
  }

  /** Forgets lines that no shell has read, so that the next shell does not find them. */
  discardLines(): void {
    for (const _ of this.takeAll(this.input));
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
      } catch {
        return;
      }
      if (count === 0) return;
      yield scratch.subarray(0, count);
    }
  }

  private receive(data: Uint8Array): void {
    this.partial += Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1');
    const fields = this.partial.split('\0');
    const whole = Math.floor((fields.length - 1) / 4) * 4;
    this.partial = fields.slice(whole).join('\0');
    for (let at = 0; at < whole; at += 4) {
      const [kind = '', number = '', value = '', cwd = ''] = fields.slice(at, at + 4);
      this.onRecord([kind, number, value, Buffer.from(cwd, 'latin1').toString()]);
    }
  }
}
