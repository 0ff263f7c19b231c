/** Lets all workers come to rest together now and then: only then do the figures of different moments compare. */
export class Rest {
  private begun: Promise<void> | undefined;
  private end: () => void = () => {};
  private arrived = 0;
  private allArrived: () => void = () => {};

  constructor(private readonly count: number) {}

  get isWanted(): boolean {
    return this.begun !== undefined;
  }

  /** A worker rests until it is to go on. */
  async join(): Promise<void> {
    if (++this.arrived === this.count) this.allArrived();
    await this.begun;
  }

  /** Somebody will never come. */
  giveUp(): void {
    this.allArrived();
  }

  /** Does the work while everybody rests. */
  async during(work: () => Promise<void>): Promise<void> {
    this.arrived = 0;
    const all = new Promise<void>((resolve) => {
      this.allArrived = resolve;
    });
    this.begun = new Promise<void>((resolve) => {
      this.end = resolve;
    });
    await all;
    try {
      await work();
    } finally {
      this.begun = undefined;
      this.end();
    }
  }
}
