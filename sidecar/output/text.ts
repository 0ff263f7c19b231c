import { isUtf8 } from 'node:buffer';
import type { Encoding } from '../../protocol/values';

/** Bytes as they go into a message: as text if that is what they are, in base64 otherwise. */
export function encodeBytes(bytes: Buffer): { data: string; encoding: Encoding } {
  return isUtf8(bytes)
    ? { data: bytes.toString('utf8'), encoding: 'utf8' }
    : { data: bytes.toString('base64'), encoding: 'base64' };
}

/** How many bytes at the end are the beginning of a character whose rest has not come yet. */
export function incompleteTail(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(3, end); back++) {
    const byte = bytes[end - back] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}

/** How many bytes at the beginning are the rest of a character that was cut. */
export function cutHead(bytes: Uint8Array): number {
  let count = 0;
  while (count < Math.min(3, bytes.length) && ((bytes[count] as number) & 0xc0) === 0x80) count++;
  return count;
}
