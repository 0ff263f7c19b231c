import { randomBytes } from 'node:crypto';
import type { Command } from './command';
import { backgroundFile } from './command-files';
import type { LastReport, ShellHost } from './shell-host';

const lookMs = 1000;

/** What a shell of a sidecar that is gone is asked: which command it last reported, and which it was last given. */
export class ShellQuestions {
  /** Set only while one is open: an answer to another, perhaps another sidecar's, must not be taken for its own. */
  private open: { word: string; answered: (last: LastReport) => void } | undefined;

  constructor(private readonly host: ShellHost) {}

  /** Its answer comes after everything the shell was sent before. */
  ask(answered: (last: LastReport) => void): void {
    const word = randomBytes(4).toString('hex');
    this.open = { word, answered };
    this.host.channel.send(this.host.dialect.again(word));
  }

  /** The answer is not waited for any more. */
  close(): void {
    this.open = undefined;
  }

  answered(word: string, last: LastReport): void {
    if (word === this.open?.word) this.open.answered(last);
  }

  /** Learns from an idle shell where it is, and waits until it is idle indeed. */
  async getToKnow(): Promise<void> {
    const { host } = this;
    const last = await this.lastReport();
    if (last === undefined) return;
    host.lastStatus = last.status;
    host.cwd = last.cwd === '' ? host.cwd : last.cwd;
  }

  /**
   * Whether it has read the line of a background command. One that has ended cannot be asked: then only a line that is still
   * there was certainly not read.
   */
  async hasRead({ number }: Command): Promise<boolean> {
    const last = await this.lastReport();
    if (last !== undefined) return last.background >= number;
    if (this.host.isAlive) return true;
    return !this.host.channel.takeBackLines().includes(backgroundFile(number));
  }

  /** What an idle shell says; nothing if it has ended, or something of the user's keeps it from answering. */
  private async lastReport(): Promise<LastReport | undefined> {
    if (!this.host.isAlive) return undefined;
    const answered = new Promise<LastReport>((resolve) => this.ask(resolve));
    // If it was asked and waits for its next line, its answer was swallowed.
    let stop = () => {};
    const idle = new Promise<undefined>((resolve) => {
      stop = this.host.onWaiting(lookMs, () => resolve(undefined));
    });
    const last = await Promise.race([answered, this.host.exited.then(() => undefined), idle]);
    stop();
    this.close();
    return last;
  }
}
