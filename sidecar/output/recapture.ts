import { open } from 'node:fs/promises';
import type { StreamName } from '../../protocol/values';
import { isPassing } from '../system-failure';
import { Capture } from './capture';
import { readWithoutFollowing } from './command-log';
import { recordAt } from './prefix-log';

const blockBytes = 1024 * 1024;

/** The ends of both streams, read back from the first bytes of a log in bounded memory. Empty if the log is gone. */
export async function recapture(path: string, limit: number, size: number): Promise<Record<StreamName, Capture>> {
  const captures = { stdout: new Capture(limit), stderr: new Capture(limit) };
  const file = await open(path, readWithoutFollowing).catch((error: unknown) => {
    if (isPassing(error)) throw error;
    return undefined;
  });
  if (file === undefined) return captures;
  try {
    if (!(await file.stat()).isFile()) return captures;
    let rest = Buffer.alloc(0);
    for (let missing = size; ; ) {
      const block = Buffer.allocUnsafe(Math.min(blockBytes, missing));
      const { bytesRead } = await file.read(block, 0, block.length);
      if (bytesRead === 0) return captures;
      missing -= bytesRead;
      const log = Buffer.concat([rest, block.subarray(0, bytesRead)]);
      let at = 0;
      for (let record = recordAt(log, at); record !== undefined; record = recordAt(log, at)) {
        captures[record.stream].append(record.data);
        at = record.end;
      }
      rest = Buffer.from(log.subarray(at));
    }
  } finally {
    await file.close();
  }
}
