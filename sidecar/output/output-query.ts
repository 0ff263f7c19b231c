import type { Params, Result } from '../../protocol/methods';
import type { OutputChunk, StreamName } from '../../protocol/values';
import type { ChunkPlace, StreamBytes } from './chunk-index';
import { encodeBytes } from './text';

export type Query = Params<'exec.output'>;
export type Answer = Omit<Result<'exec.output'>, 'finished'>;

export const defaultMaxBytes = 1024 * 1024;

export const wanted = (query: Query, stream: StreamName) =>
  query.stream === undefined || query.stream === 'both' || query.stream === stream;

/** Of bytes of both streams those that were asked for. */
export const wantedBytes = (query: Query, { stdout, stderr }: StreamBytes) =>
  (wanted(query, 'stdout') ? stdout : 0) + (wanted(query, 'stderr') ? stderr : 0);

export function asChunk({ seq, stream, time }: ChunkPlace, bytes: Buffer): OutputChunk {
  const { data, encoding } = encodeBytes(bytes);
  return encoding === 'utf8' ? { seq, stream, data, time } : { seq, stream, data, encoding, time };
}
