import { failure, type LimpetError } from '../../protocol/errors';

const maxHeaderBytes = 4096;
const headerEnd = Buffer.from('\r\n\r\n');

/** Cuts a byte stream into the contents announced by `Content-Length` headers, holding at most one message. */
export class ContentSplitter {
  private chunks: Buffer[] = [];
  private held = 0;
  private expected: number | undefined;
  private failed = false;

  constructor(private readonly maxBytes: number) {}

  /** A returned error is final: what follows cannot be told apart any more. */
  push(chunk: Buffer, onContent: (content: Buffer) => void): LimpetError | undefined {
    if (this.failed) return undefined;
    this.chunks.push(chunk);
    this.held += chunk.length;
    for (;;) {
      if (this.expected === undefined) {
        const found = this.readHeader();
        if (found === undefined) return undefined;
        if (typeof found !== 'number') return this.fail(found);
        this.expected = found;
      }
      if (this.held < this.expected) return undefined;
      const all = this.joined();
      const content = all.subarray(0, this.expected);
      this.keep(all.subarray(this.expected));
      this.expected = undefined;
      onContent(content);
    }
  }

  private readHeader(): number | LimpetError | undefined {
    if (this.held === 0) return undefined;
    const all = this.joined();
    const end = all.subarray(0, maxHeaderBytes).indexOf(headerEnd);
    if (end < 0) {
      return all.length < maxHeaderBytes ? undefined : failure.invalidRequest('A message starts with Content-Length.');
    }
    const length = /^content-length: *(\d{1,15})$/im.exec(all.toString('latin1', 0, end).replaceAll('\r', ''))?.[1];
    if (length === undefined) return failure.invalidRequest('A message starts with Content-Length.');
    const bytes = Number(length);
    if (bytes > this.maxBytes) return failure.payloadTooLarge(this.maxBytes);
    this.keep(all.subarray(end + headerEnd.length));
    return bytes;
  }

  private joined(): Buffer {
    const [first, second] = this.chunks;
    const all = second === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(this.chunks);
    this.chunks = [all];
    return all;
  }

  private keep(rest: Buffer): void {
    this.chunks = rest.length === 0 ? [] : [rest];
    this.held = rest.length;
  }

  private fail(error: LimpetError): LimpetError {
    this.failed = true;
    this.keep(Buffer.alloc(0));
    return error;
  }
}
