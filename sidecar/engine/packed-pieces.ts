import type { IndexedPiece } from '../output/chunk-index';

const factsEach = 4;
/** So many in one record: a line of a journal that was cut short costs no more than these. */
const mostTogether = 4096;

/**
 * Pieces of output in little room: of each its stream, its size, and by how much it ends later, in the log and in time, than
 * the one before. The first of each pack begins at zero.
 */
export function* packs(pieces: Iterable<IndexedPiece>): Generator<number[]> {
  let pack: number[] = [];
  let last = { logEnd: 0, time: 0 };
  for (const piece of pieces) {
    pack.push(piece.stream === 'stdout' ? 1 : 2, piece.size, piece.logEnd - last.logEnd, piece.time - last.time);
    last = piece;
    if (pack.length < mostTogether * factsEach) continue;
    yield pack;
    pack = [];
    last = { logEnd: 0, time: 0 };
  }
  if (pack.length > 0) yield pack;
}

export function* unpacked(pack: readonly number[]): Generator<IndexedPiece> {
  let logEnd = 0;
  let time = 0;
  for (let at = 0; at + factsEach <= pack.length; at += factsEach) {
    logEnd += pack[at + 2] as number;
    time += pack[at + 3] as number;
    yield { stream: pack[at] === 1 ? 'stdout' : 'stderr', size: pack[at + 1] as number, logEnd, time };
  }
}
