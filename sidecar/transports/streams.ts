import type { Writable } from 'node:stream';

/** Ends a stream and resolves when everything written to it has left, or can leave no more. */
export function ending(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableFinished) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('finish', resolve);
    stream.once('close', resolve);
    stream.once('error', () => resolve());
    stream.end();
  });
}
