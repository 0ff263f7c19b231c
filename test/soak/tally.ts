import { leastCuts } from './cuts';
import type { Departures } from './hub';

/** What a sidecar that is killed may lose of a stream. */
export const oneRead = 64 * 1024;
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
  /** Of one stream of one command. */
  mostLostAtOnce = 0;
  /** The same, shared out among the kills that this command saw. */
  mostLostPerKill = 0;

  constructor(private readonly say: (line: string) => void = console.log) {}

  mismatch(what: string): void {
    this.mismatches++;
    if (this.listed.length < mostListed) {
      this.listed.push(what);
      this.say(`MISMATCH ${what.slice(0, 2000)}`);
    }
  }

  same(what: string, got: unknown, expected: unknown): void {
    const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
    if (one !== other) this.mismatch(`${what}: got ${one}, expected ${other}`);
  }

  /** Output must be exact; each sidecar that was killed may have lost one read of each stream, and nothing else. */
  sameOutput(what: string, got: Streams, expected: Streams, { kills, handOvers }: Departures): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const [have, want] = [got[stream], expected[stream]];
      if (have.equals(want)) continue;
      const missing = Math.max(0, want.length - have.length);
      if (leastCuts(have, want, { count: kills, bytes: oneRead }) === undefined) {
        const first = commonStart(have, want);
        this.mismatch(
          `${what}: ${stream} has ${have.length} bytes instead of ${want.length}, differs from ${first} on, ` +
            `has the last ${commonEnd(have, want)} again, ${kills} kills, ${handOvers} hand-overs: ` +
            `${JSON.stringify(have.subarray(first, first + 60).toString())} ` +
            `instead of ${JSON.stringify(want.subarray(first, first + 60).toString())}`,
        );
      }
      this.lost[stream] += missing;
      this.mostLostAtOnce = Math.max(this.mostLostAtOnce, missing);
      this.mostLostPerKill = Math.max(this.mostLostPerKill, Math.ceil(missing / Math.max(1, kills)));
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
