export interface Cuts {
  count: number;
  /** Of each one. */
  bytes: number;
}

/**
 * How many ranges have to be left out of what was wanted to get what is there; undefined if more than may be, or larger ones.
 * Exact, also where the text repeats itself: for every amount left out so far it knows how far that can lead, and further is never worse.
 */
export function leastCuts(have: Buffer, want: Buffer, most: Cuts): number | undefined {
  const missing = want.length - have.length;
  if (missing < 0 || missing > most.count * most.bytes) return undefined;
  const extended = (from: number, leftOut: number) => {
    let at = from;
    while (at < have.length && have[at] === want[at + leftOut]) at++;
    return at;
  };
  let reached = new Int32Array(missing + 1).fill(-1);
  reached[0] = extended(0, 0);
  for (let count = 0; ; count++) {
    if (reached[missing] === have.length) return count;
    if (count === most.count) return undefined;
    reached = furthestWithin(reached, most.bytes).map((from, leftOut) => (from < 0 ? from : extended(from, leftOut)));
  }
}

/** For each place the largest value there or at most so many places before. */
function furthestWithin(values: Int32Array, distance: number): Int32Array<ArrayBuffer> {
  const largest = new Int32Array(values.length);
  // Places whose values fall: the first one is the largest that is near enough.
  const falling = new Int32Array(values.length);
  let [first, end] = [0, 0];
  const valueAt = (place: number | undefined) => values[place ?? 0] ?? -1;
  for (const [place, value] of values.entries()) {
    while (end > first && valueAt(falling[end - 1]) <= value) end--;
    falling[end++] = place;
    if (place - (falling[first] ?? 0) > distance) first++;
    largest[place] = valueAt(falling[first]);
  }
  return largest;
}
