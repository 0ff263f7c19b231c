import { isUtf8 } from 'node:buffer';
import type { Encoding } from '../../protocol/values';
import { cutHead, encodeBytes, incompleteTail } from './text';

const smallest = 1024;
const empty: Buffer = Buffer.alloc(0);

/** Words the places where bytes are missing. */
export interface Notices {
  /** Between the beginning and the end that were kept. */
  between(missing: number): string;
  /** Behind all that was captured. */
  behind(missing: number): string;
}

/** Keeps the first and the last bytes of a stream, never more than `limit` in all, and counts the rest. */
export class Capture {
  total = 0;
  private readonly headLimit: number;
  private readonly tailLimit: number;
  private head = empty;
  private headLength = 0;
  /** A ring once it is as large as it may get; before that it only grows. */
  private tail = empty;
  private tailTotal = 0;

  constructor(readonly limit: number) {
    this.headLimit = Math.ceil(limit / 2);
    this.tailLimit = limit - this.headLimit;
  }

  append(data: Uint8Array): void {
    this.total += data.length;
    const room = this.headLimit - this.headLength;
    if (room > 0) {
      const part = data.length <= room ? data : data.subarray(0, room);
      if (this.headLength === 0) {
        // Mostly all there will be; a copy of a few bytes costs less than room for more.
        this.head = Buffer.from(part);
      } else {
        this.head = grown(this.head, this.headLength + part.length, this.headLimit, this.headLength);
        this.head.set(part, this.headLength);
      }
      this.headLength += part.length;
      if (part.length === data.length) return;
      this.appendTail(data.subarray(part.length));
    } else {
      this.appendTail(data);
    }
  }

  get isCut(): boolean {
    return this.total > this.limit;
  }

  /** The stream as a message carries it. Of `printed` bytes those that were not captured came last. */
  render({ between, behind }: Notices, printed: number): { data: string; encoding: Encoding } {
    const ending = printed > this.total ? behind(printed - this.total) : '';
    const head = this.head.subarray(0, this.headLength);
    const tail = this.tailBytes();
    if (!this.isCut) {
      const whole = encodeBytes(tail.length === 0 ? head : Buffer.concat([head, tail]));
      if (whole.encoding === 'utf8') whole.data += ending;
      return whole;
    }
    const cleanHead = head.subarray(0, head.length - incompleteTail(head));
    const cleanTail = tail.subarray(cutHead(tail));
    if (!isUtf8(cleanHead) || !isUtf8(cleanTail)) {
      return { data: Buffer.concat([head, tail]).toString('base64'), encoding: 'base64' };
    }
    const missing = this.total - cleanHead.length - cleanTail.length;
    return { data: `${cleanHead.toString()}${between(missing)}${cleanTail.toString()}${ending}`, encoding: 'utf8' };
  }

  private appendTail(data: Uint8Array): void {
    const limit = this.tailLimit;
    if (limit === 0) return;
    const part = data.length <= limit ? data : data.subarray(data.length - limit);
    this.tailTotal += data.length - part.length;
    const filled = Math.min(this.tailTotal, limit);
    this.tail = grown(this.tail, Math.min(this.tailTotal + part.length, limit), limit, filled);
    const at = this.tailTotal % limit;
    const first = Math.min(part.length, limit - at);
    this.tail.set(part.subarray(0, first), at);
    if (first < part.length) this.tail.set(part.subarray(first), 0);
    this.tailTotal += part.length;
  }

  private tailBytes(): Buffer {
    if (this.tailTotal <= this.tailLimit) return this.tail.subarray(0, this.tailTotal);
    const at = this.tailTotal % this.tailLimit;
    return Buffer.concat([this.tail.subarray(at), this.tail.subarray(0, at)]);
  }
}

/** A buffer with room for `needed` bytes that begins with the first `used` of `buffer`. */
function grown(buffer: Buffer, needed: number, limit: number, used: number): Buffer {
  if (buffer.length >= needed) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, buffer.length * 2, smallest)));
  larger.set(buffer.subarray(0, used));
  return larger;
}
