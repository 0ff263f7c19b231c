import { setImmediate as turn } from 'node:timers/promises';
import type { StreamName } from '../../protocol/values';
import type { CommandOutput } from './command-output';
import type { Pattern } from './pattern';

/** A match may span pieces of output, up to this many characters. */
const windowLength = 64 * 1024;
/** So long a look at what was printed before keeps everything else waiting. */
const longestTurnMs = 5;
/** So many pieces are looked at together, since each look at a pattern has a price of its own. */
const mostTogether = 16;

/** Looks for a pattern in what was printed and in what comes. */
export class OutputWatch {
  private readonly expression: RegExp;
  private isPastSeen = false;
  private isOver = false;
  private looking: Promise<void> | undefined;

  constructor(
    private readonly output: CommandOutput,
    private readonly pattern: Pattern,
    private readonly turnMs = longestTurnMs,
  ) {
    // So that a match can be asked for from a place on.
    const { source, flags } = pattern.expression;
    this.expression = new RegExp(source, `${flags}g`);
  }

  /** Calls back at a match, perhaps at once, or when what comes cannot be looked at. The answer ends the looking. */
  begin(met: () => void, failed: (reason: unknown) => void): () => void {
    const { output } = this;
    const { next } = output.index;
    const past = new Search(this.expression, output.index.first === 1);
    let live: Search | undefined;
    const stopListening = output.listen({
      onOutput: (stream, data) => {
        // Several pieces may come at once, before anybody can stop this.
        if (this.isOver) return;
        try {
          live ??= this.isPastSeen ? past : this.searchBehind(next);
          if (this.isIn(live, [{ stream, text: text(data) }])) met();
        } catch (reason) {
          this.isOver = true;
          failed(reason);
        }
      },
    });
    this.looking = this.lookBack(past, met);
    return () => {
      this.isOver = true;
      stopListening();
    };
  }

  /** Resolves when everything was looked at that had been printed at the beginning. */
  get pastSeen(): Promise<void> {
    return this.looking ?? Promise.resolve();
  }

  /** In turns with everything else: a log may be large. */
  private async lookBack(search: Search, met: () => void): Promise<void> {
    let deadline = performance.now() + this.turnMs;
    let pieces: Piece[] = [];
    for (const place of this.output.index.places(1)) {
      pieces.push({ stream: place.stream, text: text(this.output.read(place)) });
      if (pieces.length < mostTogether && performance.now() < deadline) continue;
      if (this.isIn(search, pieces)) return met();
      pieces = [];
      if (performance.now() < deadline) continue;
      await turn();
      if (this.isOver) return;
      deadline = performance.now() + this.turnMs;
    }
    if (this.isIn(search, pieces)) return met();
    this.isPastSeen = true;
  }

  private isIn(search: Search, pieces: readonly Piece[]): boolean {
    return pieces.length > 0 && this.pattern.look(() => pieces.some(({ stream, text }) => search.finds(stream, text)));
  }

  /** For what comes while the rest is still looked at: what was printed last may be the beginning of a match. */
  private searchBehind(next: number): Search {
    const search = new Search(this.expression, this.output.index.first === 1);
    for (const stream of ['stdout', 'stderr'] as const) this.lead(search, stream, next);
    return search;
  }

  private lead(search: Search, stream: StreamName, next: number): void {
    const { index } = this.output;
    const texts: string[] = [];
    let missing = windowLength + 1;
    for (let seq = next - 1; seq >= index.first && missing > 0; seq--) {
      const place = index.place(seq);
      if (place?.stream !== stream) continue;
      const piece = text(this.output.read(place));
      texts.push(piece);
      missing -= piece.length;
    }
    search.pass(stream, texts.reverse().join(''));
  }
}

interface Piece {
  stream: StreamName;
  text: string;
}

/** What a match may begin in. One that is cut begins with a character that only tells whether a line begins after it. */
interface Window {
  text: string;
  isCut: boolean;
}

class Search {
  private readonly windows: Record<StreamName, Window>;

  /** Where the beginning of the output is not known, no line is taken to begin. */
  constructor(
    private readonly expression: RegExp,
    isFromStart: boolean,
  ) {
    const window = isFromStart ? { text: '', isCut: false } : { text: '\0', isCut: true };
    this.windows = { stdout: window, stderr: window };
  }

  finds(stream: StreamName, piece: string): boolean {
    const { text, isCut } = this.pass(stream, piece);
    this.expression.lastIndex = isCut ? 1 : 0;
    return this.expression.test(text);
  }

  /** Goes on behind a piece; answers with all that a match could be in. */
  pass(stream: StreamName, piece: string): Window {
    const { text, isCut } = this.windows[stream];
    const whole = { text: text + piece, isCut };
    const isLong = whole.text.length > windowLength + 1;
    this.windows[stream] = isLong ? { text: whole.text.slice(-windowLength - 1), isCut: true } : whole;
    return whole;
  }
}

const text = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8');
