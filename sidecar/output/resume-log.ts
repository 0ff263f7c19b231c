import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { isPassing } from '../system-failure';
import type { IndexedPiece } from './chunk-index';
import { recordAt, sealFragment } from './prefix-log';

const blockBytes = 1024 * 1024;
const largestPiece = 64 * 1024;

export interface ResumedLog {
  /** Whether the file exists, be it empty. */
  isThere: boolean;
  size: number;
  /** Pieces that are in the log but were never noted. */
  pieces: IndexedPiece[];
  /** The log is not what it was, so nothing more is written to it. */
  isForeign: boolean;
}

/**
 * Takes up the log of a writer that was killed. A last record that was cut short becomes a fragment, since its bytes are
 * real; what was logged after the last noted piece is told as pieces of its own. Throws if it cannot be opened now and
 * perhaps later.
 */
export function resumeLog(path: string, notedEnd: number): ResumedLog {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  } catch (error) {
    if (isPassing(error)) throw error;
    return { isThere: false, size: 0, pieces: [], isForeign: notedEnd > 0 };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size < notedEnd) return { isThere: true, size: stat.size, pieces: [], isForeign: true };
    const { pieces, end, rest } = piecesAfter(fd, notedEnd, stat.mtimeMs);
    if (rest.length === 0) return { isThere: true, size: end, pieces, isForeign: false };
    const sealed = sealFragment(rest);
    if (sealed === undefined) {
      ftruncateSync(fd, end);
      return { isThere: true, size: end, pieces, isForeign: false };
    }
    writeSync(fd, sealed.record, 0, sealed.record.length, end);
    const logEnd = end + sealed.record.length;
    pieces.push({ stream: sealed.stream, size: sealed.dataLength, logEnd, time: Math.round(stat.mtimeMs) });
    return { isThere: true, size: logEnd, pieces, isForeign: false };
  } catch {
    return { isThere: true, size: notedEnd, pieces: [], isForeign: true };
  } finally {
    closeSync(fd);
  }
}

/** Whole records as pieces of one stream each, and the bytes of a last record that is not whole. */
function piecesAfter(fd: number, from: number, mtimeMs: number) {
  const pieces: IndexedPiece[] = [];
  const time = Math.round(mtimeMs);
  let rest: Buffer = Buffer.alloc(0);
  let end = from;
  for (let at = from; ; ) {
    const block = Buffer.allocUnsafe(blockBytes);
    const count = readSync(fd, block, 0, blockBytes, at);
    if (count === 0) return { pieces, end, rest };
    at += count;
    const log = Buffer.concat([rest, block.subarray(0, count)]);
    let done = 0;
    for (let record = recordAt(log, 0); record !== undefined; record = recordAt(log, done)) {
      const logEnd = end + record.end - done;
      const last = pieces.at(-1);
      if (last !== undefined && last.stream === record.stream && last.size + record.data.length <= largestPiece) {
        last.size += record.data.length;
        last.logEnd = logEnd;
      } else pieces.push({ stream: record.stream, size: record.data.length, logEnd, time });
      end = logEnd;
      done = record.end;
    }
    rest = log.subarray(done);
  }
}
