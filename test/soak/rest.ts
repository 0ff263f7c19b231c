/** Lets all workers come to rest together now and then: only then do the figures of different moments compare. */
export class Rest {
  private begun: Promise<void> | undefined;
  private arrived = 0;
  private settle: (everybodyRests: boolean) => void = () => {};

  constructor(private readonly count: number) {}

  get isWanted(): boolean {
    return this.begun !== undefined;
  }

  /** A worker rests until it is to go on. */
  async join(): Promise<void> {
    if (++this.arrived === this.count) this.settle(true);
    await this.begun;
  }

  /** Somebody will never come. */
  giveUp(): void {
    this.settle(false);
  }

  /** Does the work while everybody rests; not at all if somebody never does. */
  async during(work: () => Promise<void>): Promise<void> {
    this.arrived = 0;
    const everybodyRests = new Promise<boolean>((resolve) => {
      this.settle = resolve;
    });
    let end = () => {};
    this.begun = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      if (await everybodyRests) await work();
    } finally {
      this.begun = undefined;
      end();
    }
  }
}
