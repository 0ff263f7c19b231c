import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { readSocket } from '../output/fifo';

/** A record from the shell: its kind and three fields, what they mean depends on the kind. */
export type Record4 = readonly [kind: string, number: string, value: string, cwd: string];

const fieldCount = 4;
const longestRecord = 64 * 1024;
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
      } catch {
        return;
      }
      if (count === 0) return;
      yield scratch.subarray(0, count);
    }
  }

  /** A record begins with a mark, so that what a user's trap may have printed in between is passed over. */
  private receive(data: Uint8Array): void {
    const fields = (this.partial + Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1')).split(
      '\0',
    );
    const last = fields.length - 1;
    let at = 0;
    while (at + fieldCount <= last) {
      const kind = kindOf(fields[at] as string);
      if (kind === undefined) {
        at++;
        continue;
      }
      const [, number = '', value = '', cwd = ''] = fields.slice(at, at + fieldCount);
      at += fieldCount;
      this.onRecord([kind, number, value, Buffer.from(cwd, 'latin1').toString()]);
    }
    this.partial = fields.slice(at).join('\0').slice(-longestRecord);
  }
}

function kindOf(field: string): string | undefined {
  return field.slice(-recordMark.length - 1, -1) === recordMark ? field.at(-1) : undefined;
}
