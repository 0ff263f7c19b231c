const newline = 0x0a;

export interface LineEvents {
  line(bytes: Buffer): void;
  /** A line grew beyond the limit; its rest is skipped and the next line is read again. */
  tooLong(): void;
}

/** Cuts a byte stream into lines, holding at most one of them. */
export class LineSplitter {
  private parts: Buffer[] = [];
  private held = 0;
  private skipping = false;

  constructor(
    private readonly maxBytes: number,
    private readonly events: LineEvents,
  ) {}

  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(newline, from);
      if (end < 0) break;
      this.hold(chunk.subarray(from, end));
      this.finishLine();
      from = end + 1;
    }
    if (from < chunk.length) this.hold(chunk.subarray(from));
  }

  /** What follows the last newline counts as a line too. */
  end(): void {
    this.finishLine();
  }

  private hold(part: Buffer): void {
    if (this.skipping) return;
    this.held += part.length;
    if (this.held <= this.maxBytes) {
      this.parts.push(part);
      return;
    }
    this.parts = [];
    this.skipping = true;
    this.events.tooLong();
  }

  private finishLine(): void {
    const [first, second] = this.parts;
    const line = second === undefined ? first : Buffer.concat(this.parts);
    this.parts = [];
    this.held = 0;
    if (this.skipping) this.skipping = false;
    else if (line !== undefined && !isBlank(line)) this.events.line(line);
  }
}

function isBlank(line: Buffer): boolean {
  if (line.length > 64) return false;
  return line.toString('latin1').trim() === '';
}
