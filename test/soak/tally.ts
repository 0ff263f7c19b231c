import type { Departures } from './hub';

const oneRead = 64 * 1024;
const mostListed = 20;

export interface Streams {
  stdout: Buffer;
  stderr: Buffer;
}

/** What was done and what was not as the model says. */
export class Tally {
  commands = 0;
  /** Of a command, how often the sidecar went away while it ran, summed over all commands. */
  survived: Departures = { kills: 0, handOvers: 0 };
  mismatches = 0;
  readonly listed: string[] = [];
  readonly lost = { stdout: 0, stderr: 0 };
  mostLostAtOnce = 0;

  mismatch(what: string): void {
    this.mismatches++;
    if (this.listed.length < mostListed) {
      this.listed.push(what);
      console.log(`MISMATCH ${what.slice(0, 2000)}`);
    }
  }

  same(what: string, got: unknown, expected: unknown): void {
    const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
    if (one !== other) this.mismatch(`${what}: got ${one}, expected ${other}`);
  }

  /** Output must be exact; a sidecar that was killed may have lost one read of each stream. */
  sameOutput(what: string, got: Streams, expected: Streams, departed: Departures): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const [have, want] = [got[stream], expected[stream]];
      if (have.equals(want)) continue;
      const missing = want.length - have.length;
      const isCut = missing > 0 && commonStart(have, want) + commonEnd(have, want) >= have.length;
      const mayBeCut = departed.kills > 0 && missing <= oneRead * departed.kills;
      // After several kills there may be several cuts; then only the amount is checked.
      if (!mayBeCut || missing < 0 || (departed.kills === 1 && !isCut)) {
        const { kills, handOvers } = departed;
        const first = commonStart(have, want);
        this.mismatch(
          `${what}: ${stream} has ${have.length} bytes instead of ${want.length}, differs from ${first} on, ` +
            `${kills} kills, ${handOvers} hand-overs: ${JSON.stringify(have.subarray(first, first + 60).toString())} ` +
            `instead of ${JSON.stringify(want.subarray(first, first + 60).toString())}`,
        );
      }
      this.lost[stream] += Math.max(0, missing);
      this.mostLostAtOnce = Math.max(this.mostLostAtOnce, missing);
    }
  }
}

function commonStart(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}

function commonEnd(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[one.length - 1 - at] === other[other.length - 1 - at]) at++;
  return at;
}
