/**
 * Shows what several write at once as if one had written after the other: the first that has not ended is shown live,
 * what the others write is kept until it is their turn.
 */
export class InOrder {
  #waiting = [];

  constructor(show) {
    this.show = show;
  }

  /** The next in line. */
  writer() {
    const one = { kept: [], ended: false };
    this.#waiting.push(one);
    return {
      write: (text) => {
        if (this.#waiting[0] === one) this.show(text);
        else one.kept.push(text);
      },
      end: () => {
        one.ended = true;
        while (this.#waiting[0]?.ended) {
          this.#waiting.shift();
          for (const text of this.#waiting[0]?.kept.splice(0) ?? []) this.show(text);
        }
      },
    };
  }
}
