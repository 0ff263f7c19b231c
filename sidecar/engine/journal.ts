import { closeSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';

/** Notes that nobody has been told of yet may be lost with the process, so they wait for company. */
const mostPending = 16 * 1024;
const smallestToRewrite = 256 * 1024;

/**
 * What the next sidecar needs to go on with a session, should this one be killed: a line for everything that happens to it.
 * A session whose journal cannot be written works on, and is not adopted.
 */
export class Journal {
  private fd: number | undefined;
  private pending = '';
  private later: (() => string)[] = [];
  private size = 0;
  private sizeWhenRewritten = 0;

  constructor(
    private readonly path: string,
    private readonly onBroken: (error: unknown) => void,
  ) {
    this.attempt(() => {
      this.fd = openSync(path, 'a', 0o600);
    });
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
    if (pending === '' || fd === undefined) return;
    this.pending = '';
    this.attempt(() => {
      this.size += writeSync(fd, pending);
    });
  }

  /** Whether most of it is about what is long over. */
  get isLong(): boolean {
    return this.size > smallestToRewrite && this.size > 4 * this.sizeWhenRewritten;
  }

  /** Begins anew with these lines, which must tell everything. */
  rewrite(lines: Iterable<string>): void {
    const text = `${[...lines].join('\n')}\n`;
    this.pending = '';
    this.later = [];
    this.attempt(() => {
      writeFileSync(`${this.path}.new`, text, { mode: 0o600 });
      renameSync(`${this.path}.new`, this.path);
      const old = this.fd;
      this.fd = openSync(this.path, 'a', 0o600);
      if (old !== undefined) closeSync(old);
      this.size = this.sizeWhenRewritten = Buffer.byteLength(text);
    });
  }

  close(): void {
    this.flush();
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }

  private addLater(): void {
    if (this.later.length === 0) return;
    const later = this.later;
    this.later = [];
    for (const line of later) this.pending += `${line()}\n`;
  }

  private attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onBroken(error);
    }
  }
}
