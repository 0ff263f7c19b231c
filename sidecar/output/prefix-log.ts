import type { StreamName } from '../../protocol/values';

/**
 * The log's format: every record is a line with a 3-byte prefix, \x01\x01\x01 for stdout and \x02\x02\x02 for stderr. A
 * piece of output that does not end in a newline has \x00 as its third byte: the newline after it belongs to the log and
 * not to the data, and the stream's next record continues it. So the bytes of both streams can be rebuilt exactly.
 */
const marks: Record<StreamName, number> = { stdout: 0x01, stderr: 0x02 };
const fragmentMark = 0x00;
const newline = 0x0a;
const prefixLength = 3;
const fewBytes = 256;

/** Turns pieces of output into log records. The returned view is valid until the next call. */
export class PrefixEncoder {
  private bytes = Buffer.alloc(0);
  private view = new DataView(this.bytes.buffer);

  encode(stream: StreamName, data: Uint8Array): Uint8Array {
    this.reserve(data.length);
    if (data.length < fewBytes) return this.encodeFew(marks[stream], data);
    const { bytes, view } = this;
    const mark = marks[stream];
    const prefix = mark | (mark << 8) | (mark << 16);
    const source = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const end = data.length;
    const wordEnd = end - 4;
    let from = 0;
    let to = 0;
    let lastPrefix = 0;
    while (from < end) {
      lastPrefix = to;
      // Writes one byte too many, which the line's first byte then overwrites.
      view.setInt32(to, prefix, true);
      to += prefixLength;
      // Four bytes at a time while none of them is a newline: a byte loop is three times slower on ordinary lines.
      while (from <= wordEnd) {
        const word = source.getInt32(from, true);
        const zeroWhereNewline = word ^ 0x0a0a0a0a;
        if (((zeroWhereNewline - 0x01010101) & ~zeroWhereNewline & 0x80808080) !== 0) break;
        view.setInt32(to, word, true);
        from += 4;
        to += 4;
      }
      while (from < end) {
        const byte = data[from++] as number;
        bytes[to++] = byte;
        if (byte === newline) break;
      }
    }
    if (end > 0 && data[end - 1] !== newline) {
      bytes[lastPrefix + 2] = fragmentMark;
      bytes[to++] = newline;
    }
    return bytes.subarray(0, to);
  }

  /** As encode does it, a byte at a time: for a line or two the rest is not worth its preparation. */
  private encodeFew(mark: number, data: Uint8Array): Uint8Array {
    const { bytes } = this;
    let to = 0;
    for (let from = 0; from < data.length; ) {
      const end = data.indexOf(newline, from);
      const isFragment = end < 0;
      bytes[to++] = mark;
      bytes[to++] = mark;
      bytes[to++] = isFragment ? fragmentMark : mark;
      const lineEnd = isFragment ? data.length : end;
      while (from < lineEnd) bytes[to++] = data[from++] as number;
      bytes[to++] = newline;
      from = lineEnd + 1;
    }
    return bytes.subarray(0, to);
  }

  /** Room for the worst case, in which every byte is a line of its own. */
  private reserve(length: number): void {
    const needed = length * (prefixLength + 1) + 8;
    if (this.bytes.length >= needed) return;
    this.bytes = Buffer.allocUnsafeSlow(needed);
    this.view = new DataView(this.bytes.buffer);
  }
}

/** One record of a log, without its prefix and, for a fragment, without the newline that is not data. */
export interface LogRecord {
  stream: StreamName;
  data: Uint8Array;
  /** Where the record after this one begins. */
  end: number;
}

/** Reads the record at `from`; nothing if the log ends before the record does, or if what is there is none. */
export function recordAt(log: Uint8Array, from: number): LogRecord | undefined {
  const mark = log[from];
  const third = log[from + 2];
  const isPrefix =
    (mark === marks.stdout || mark === marks.stderr) &&
    log[from + 1] === mark &&
    (third === mark || third === fragmentMark);
  const lineEnd = isPrefix ? log.indexOf(newline, from + prefixLength) : -1;
  if (lineEnd < 0) return undefined;
  const stream = mark === marks.stderr ? 'stderr' : 'stdout';
  const dataEnd = third === fragmentMark ? lineEnd : lineEnd + 1;
  return { stream, data: log.subarray(from + prefixLength, dataEnd), end: lineEnd + 1 };
}

/** Makes a fragment of a record whose end is missing; nothing if not even its first byte of data is there. */
export function sealFragment(
  cut: Uint8Array,
): { stream: StreamName; record: Uint8Array; dataLength: number } | undefined {
  if (cut.length <= prefixLength) return undefined;
  const record = Buffer.alloc(cut.length + 1, newline);
  record.set(cut);
  record[2] = fragmentMark;
  const stream = cut[0] === marks.stderr ? 'stderr' : 'stdout';
  return { stream, record, dataLength: cut.length - prefixLength };
}
