import fs from 'node:fs';

export interface RotationLimits {
  maxBytes: number;
  /** Older parts kept beside the current one, as `.1`, `.2`, … */
  keep: number;
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = fs.constants;
const appendWithoutFollowing = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW;
const flushAfterMs = 100;
const flushAtBytes = 64 * 1024;

/** A log file that never takes more than (keep + 1) × maxBytes. Lines are gathered briefly, then written at once. */
export class RotatingFile {
  private fd: number | undefined;
  private pending: string[] = [];
  private pendingBytes = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly path: string,
    private readonly limits: RotationLimits = { maxBytes: 5 * 1024 * 1024, keep: 2 },
  ) {}

  write(line: string): void {
    this.pending.push(line);
    this.pendingBytes += Buffer.byteLength(line);
    if (this.pendingBytes >= flushAtBytes) this.flush();
    else if (this.timer === undefined) {
      this.timer = setTimeout(() => this.flush(), flushAfterMs);
      this.timer.unref();
    }
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending.length === 0) return;
    const text = this.pending.join('');
    const bytes = this.pendingBytes;
    this.pending = [];
    this.pendingBytes = 0;
    try {
      this.append(text, bytes);
    } catch {
      // A full disk or a removed directory must not end the sessions; the next lines try again.
      this.close();
    }
  }

  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
  }

  private append(text: string, bytes: number): void {
    if (this.current() + bytes > this.limits.maxBytes) this.rotate();
    this.fd ??= fs.openSync(this.path, appendWithoutFollowing, 0o600);
    fs.writeSync(this.fd, text);
  }

  /** The size of the file at our path. Another sidecar may have rotated it away under us: then it is opened anew. */
  private current(): number {
    const there = fs.lstatSync(this.path, { throwIfNoEntry: false });
    if (this.fd !== undefined && fs.fstatSync(this.fd).ino !== there?.ino) this.close();
    // A link has no business here; it goes, and what it points to stays as it is.
    if (there?.isSymbolicLink() === true) fs.rmSync(this.path);
    return there?.isFile() === true ? there.size : 0;
  }

  private rotate(): void {
    this.close();
    if (this.limits.keep === 0) fs.rmSync(this.path, { force: true });
    const part = (n: number) => (n === 0 ? this.path : `${this.path}.${n}`);
    for (let n = this.limits.keep; n > 0; n--) {
      if (fs.existsSync(part(n - 1))) fs.renameSync(part(n - 1), part(n));
    }
  }
}
