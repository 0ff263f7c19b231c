import { closeSync, fstatSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { removeIfPossible } from './sweep';

/** Notes that nobody has been told of yet may be lost with the process, so they wait for company. */
const mostPending = 16 * 1024;
const smallestToRewrite = 256 * 1024;
const retryMs = 200;
const sliceLength = 1024 * 1024;

/**
 * What the next sidecar needs to go on with a session, should this one be killed: a line for everything that happens to it.
 * A session whose journal cannot be written works on, and is not adopted: from half of it commands would be run twice.
 */
export class Journal {
  private fd: number | undefined;
  private pending = '';
  private later: (() => string)[] = [];
  private size = 0;
  private sizeWhenRewritten = 0;
  /** Something could not be written, so it does not tell everything; then it is not there, until it could be written anew. */
  private isBroken = false;
  private isClosed = false;
  private retrying: NodeJS.Timeout | undefined;

  /** `everything` is what it has to tell by now, in lines. */
  constructor(
    private readonly path: string,
    private readonly everything: () => Iterable<string>,
    private readonly onBroken: (error: unknown) => void,
  ) {
    try {
      this.fd = openSync(path, 'a', 0o600);
      this.size = this.sizeWhenRewritten = fstatSync(this.fd).size;
      // Its last line may have been cut short.
      if (this.size > 0) this.pending = '\n';
    } catch (error) {
      this.isBroken = true;
      onBroken(error);
      this.retryLater();
    }
  }

  /** For later: it is written with what follows. */
  noteLine(line: string): void {
    this.addLater();
    this.pending += `${line}\n`;
    if (this.pending.length > mostPending) this.flush();
  }

  /** Even later: nobody has to wait until it is put into words. What is noted after it comes after it all the same. */
  noteLater(line: () => string): void {
    this.later.push(line);
  }

  flush(): void {
    this.addLater();
    const { pending, fd } = this;
    this.pending = '';
    // A broken one is written anew, with this.
    if (pending === '' || fd === undefined) return;
    try {
      const written = writeSync(fd, pending);
      this.size += written;
      if (written < Buffer.byteLength(pending)) throw new Error('The disk took only a part.');
    } catch (error) {
      this.break(error);
      // There is now the room that it took.
      this.rewrite();
    }
  }

  /** Whether most of it is about what is long over. */
  get isLong(): boolean {
    return this.size > smallestToRewrite && this.size > 4 * this.sizeWhenRewritten;
  }

  /** Begins anew with what there is to tell. Where there is no room for that, one that has told everything stays. */
  rewrite(): void {
    if (this.isClosed) return;
    if (this.isWhole) this.flush();
    const aside = `${this.path}.new`;
    this.pending = '';
    this.later = [];
    let fd: number | undefined;
    let size = 0;
    try {
      fd = openSync(aside, 'w', 0o600);
      for (const slice of slicesOf(this.everything())) {
        writeFileSync(fd, slice);
        size += slice.length;
      }
      renameSync(aside, this.path);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      removeIfPossible(aside);
      if (!this.isWhole) this.break(error);
      return;
    }
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = fd;
    this.size = this.sizeWhenRewritten = size;
    this.isBroken = false;
    clearInterval(this.retrying);
    this.retrying = undefined;
  }

  close(): void {
    if (this.isBroken) this.rewrite();
    this.flush();
    this.discard();
  }

  /** As close, without writing what is not written yet. */
  discard(): void {
    this.isClosed = true;
    clearInterval(this.retrying);
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }

  private addLater(): void {
    if (this.later.length === 0) return;
    const later = this.later;
    this.later = [];
    for (const line of later) this.pending += `${line()}\n`;
  }

  private get isWhole(): boolean {
    return !this.isBroken && this.sizeWhenRewritten > 0;
  }

  private break(error: unknown): void {
    if (!this.isBroken) this.onBroken(error);
    this.isBroken = true;
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
    removeIfPossible(this.path);
    this.retryLater();
  }

  private retryLater(): void {
    this.retrying ??= setInterval(() => this.rewrite(), retryMs).unref();
  }
}

/** All of it may be more than a string can hold. */
function* slicesOf(lines: Iterable<string>): Generator<Buffer> {
  let slice = '';
  for (const line of lines) {
    slice += `${line}\n`;
    if (slice.length < sliceLength) continue;
    yield Buffer.from(slice);
    slice = '';
  }
  yield Buffer.from(slice);
}
