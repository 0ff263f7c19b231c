import { isUtf8 } from 'node:buffer';
import type { Params } from '../protocol/methods';

/** Bytes as exec.input takes them: as text if that is what they are, in base64 otherwise. */
export function encoded(bytes: Buffer): Pick<Params<'exec.input'>, 'data' | 'encoding'> {
  return isUtf8(bytes) ? { data: bytes.toString() } : { data: bytes.toString('base64'), encoding: 'base64' };
}
