/** Something that can run a shell command and say when it is over; every contender of a latency row is one. */
export interface Rival {
  readonly name: string;
  run(command: string): Promise<void>;
  dispose(): Promise<void>;
}
