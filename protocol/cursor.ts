/**
 * A cursor is the number of a piece of output. Where a piece has no room it lies within the piece, and its fraction says how many
 * bytes of it were read: whoever passes on what he was given reads every byte once and need not know.
 */
const parts = 2 ** 20;

export function cursorWithin(seq: number, bytesRead: number): number {
  return seq + bytesRead / parts;
}

export function splitCursor(cursor: number): { seq: number; bytesRead: number } {
  const seq = Math.floor(cursor);
  return { seq, bytesRead: Math.round((cursor - seq) * parts) };
}
