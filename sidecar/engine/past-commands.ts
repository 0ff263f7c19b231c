import type { Command } from './command';

/** Of so many pieces of output together it is known where they lie; beyond that the oldest commands keep their newest few. */
const mostPieces = 256 * 1024;
const fewestPieces = 1024;

/** What the commands of a session that are over cost, all together, as long as they are remembered. */
export class PastCommands {
  private textLength = 0;
  private pieces = 0;

  /** `remembered` are the session's commands, the oldest first. */
  constructor(
    private readonly remembered: () => Iterable<Command>,
    private readonly mostTextLength: number,
  ) {}

  /** It is over, and nobody prints for it any more. */
  add({ request, output }: Command): void {
    this.textLength += request.text.length;
    this.pieces += output.index.count;
    if (this.pieces > mostPieces) this.dropOldPieces();
  }

  /** One that was added is not remembered any more. */
  remove({ request, output }: Command): void {
    this.textLength -= request.text.length;
    this.pieces -= output.index.count;
  }

  /** Whether their texts take too much room, so that some are to be forgotten. */
  get areTooLong(): boolean {
    return this.textLength > this.mostTextLength;
  }

  private dropOldPieces(): void {
    for (const { output } of this.remembered()) {
      if (!output.ended) continue;
      this.pieces -= output.index.keepNewest(fewestPieces);
      if (this.pieces <= mostPieces) return;
    }
  }
}
