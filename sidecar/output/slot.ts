import type { CommandOutput } from './command-output';
import { type Drained, FifoReader } from './fifo';

const newline = 0x0a;

/**
 * A pair of FIFOs that one command at a time has as stdout and stderr. It stays with its command until nobody has them
 * open any more: what a process left behind prints later is still that command's output.
 */
export class Slot {
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly inputPath: string;
  private readonly stdout: FifoReader;
  private readonly stderr: FifoReader;
  private output: CommandOutput | undefined;
  private onEnd: () => void = () => {};
  private leavesOutNewline = false;
  private wasOpened = false;
  private isDisposed = false;

  constructor(
    directory: string,
    readonly number: number,
  ) {
    this.stdoutPath = `${directory}/o${number}`;
    this.stderrPath = `${directory}/e${number}`;
    this.inputPath = `${directory}/i${number}`;
    this.stdout = new FifoReader(this.stdoutPath);
    this.stderr = new FifoReader(this.stderrPath);
  }

  get paths(): [string, string] {
    return [this.stdoutPath, this.stderrPath];
  }

  /** Whether its command was seen to have the FIFOs open, which one that is over in a moment is not. */
  get wasSeenOpen(): boolean {
    return this.wasOpened;
  }

  /** Must come before the command opens the FIFOs. */
  bind(output: CommandOutput): void {
    this.output = output;
    this.wasOpened = false;
    this.stdout.open((data) => output.write('stdout', data));
    this.leavesOutNewline = false;
    this.stderr.open((data) => this.receiveError(output, data));
  }

  /**
   * Starts to pass output on as it comes. A FIFO that no writer has opened yet would look closed, so the answer is whether
   * both are followed; if not, this is to be tried again.
   */
  follow(onEnd?: () => void): boolean {
    if (onEnd !== undefined) this.onEnd = onEnd;
    return [this.stdout, this.stderr].map((reader) => this.followReader(reader)).every(Boolean);
  }

  /** The next byte on stderr will not be the command's if it is a newline: what comes now is, and that one is left out. */
  leaveOutNewline(): void {
    this.drain();
    this.leavesOutNewline = true;
  }

  private receiveError(output: CommandOutput, data: Uint8Array): void {
    const isLeftOut = this.leavesOutNewline && data[0] === newline;
    this.leavesOutNewline = false;
    if (!isLeftOut) output.write('stderr', data);
    else if (data.length > 1) output.write('stderr', data.subarray(1));
  }

  /** Takes everything the command has printed so far. */
  drain(): Drained {
    const stdout = this.stdout.drain();
    const stderr = this.stderr.drain();
    return stdout === 'closed' && stderr === 'closed' ? 'closed' : 'open';
  }

  /** Goes on reading what processes that outlive the command print; `onClosed` is called when the last is gone. */
  linger(onClosed: () => void): void {
    let isOver = false;
    const check = () => {
      if (isOver || this.output === undefined || this.drain() === 'open') return;
      isOver = true;
      this.free();
      onClosed();
    };
    this.follow(check);
    check();
  }

  /** The command is over and nobody holds its FIFOs. */
  free(): void {
    const { output } = this;
    this.output = undefined;
    this.onEnd = () => {};
    this.renew(this.stdout);
    this.renew(this.stderr);
    output?.end();
  }

  /** A followed reader cannot be used again, or has closed at its end. The next command finds descriptors that are open already. */
  private renew(reader: FifoReader): void {
    if (reader.isFollowed) reader.close();
    if (this.isDisposed) return;
    try {
      reader.open(() => {});
    } catch {
      // Without a descriptor to spare it is opened when the next command needs it, or that one says why it cannot run.
    }
  }

  private followReader(reader: FifoReader): boolean {
    if (reader.isFollowed) return true;
    if (reader.drain() === 'closed') return false;
    reader.follow(() => this.onEnd());
    this.wasOpened = true;
    return true;
  }

  dispose(): void {
    this.isDisposed = true;
    this.stdout.close();
    this.stderr.close();
    this.output?.end();
    this.output = undefined;
  }
}
