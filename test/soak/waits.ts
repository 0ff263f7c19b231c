import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LimpetError } from '../../protocol/errors';
import type { Result } from '../../protocol/methods';
import type { WaitCondition } from '../../protocol/values';
import { freePort, isFree } from './free-port';
import type { Random } from './random';
import type { Subject } from './subject';

let made = 0;

/** Waits for what a command does besides printing. Each of the commands would go on for long, and is cancelled. */
export class Waits {
  constructor(
    private readonly subject: Subject,
    private readonly random: Random,
  ) {}

  async forPort(): Promise<void> {
    const port = await freePort();
    const listen = `require('net').createServer().listen(${port}, '127.0.0.1')`;
    const command = `sleep 0.${this.random.between(0, 2)}; '${process.execPath}' -e "${listen}"`;
    await this.during(command, async (wait) => {
      await wait({ port }, 'port');
      if (await isFree(port)) this.mismatch(`nobody listens on ${port} after the wait for it`);
    });
    if (!(await isFree(port))) this.mismatch(`somebody listens on ${port} after the command was cancelled`);
  }

  async forSilence(): Promise<void> {
    const silenceMs = this.random.between(100, 300);
    await this.during('for i in 1 2 3; do echo $i; sleep 0.03; done; sleep 300', async (wait) => {
      const began = performance.now();
      await wait({ silenceMs }, 'silence_ms');
      const took = performance.now() - began;
      // Timers of two processes round differently.
      if (took < silenceMs - 5) this.mismatch(`silence of ${silenceMs} ms after ${took} ms`);
    });
  }

  /** `cwd` is the session's, which a name without a directory is about. */
  async forFile(cwd: string): Promise<void> {
    const name = `made ${++made}`;
    const file = join(cwd, name);
    const command = `sleep 0.${this.random.between(0, 2)}; : > '${name}'; sleep 300`;
    await this.during(command, async (wait) => {
      await wait({ file: this.random.chance(0.5) ? name : file }, 'file');
      if (!existsSync(file)) this.mismatch(`${file} is not there after the wait for it`);
    });
    rmSync(file, { force: true });
  }

  private async during(
    command: string,
    work: (wait: (until: WaitCondition, met: Result<'exec.wait'>['met']) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { hub, tally } = this.subject;
    const commandId = await this.subject.start(command, { background: this.random.chance(0.5) });
    tally.commands++;
    await work(async (until, met) => {
      const answer = await hub.ask('exec.wait', { commandId, until: [until], timeoutMs: 60_000 });
      const said = answer.met === met ? '' : `, which printed ${JSON.stringify([answer.stdout, answer.stderr])}`;
      tally.same(
        `${this.what(`wait for ${JSON.stringify(until)} of ${commandId}`)}${said}`,
        [answer.met, answer.state],
        [met, 'running'],
      );
    });
    await hub.ask('exec.cancel', { commandId }).catch((thrown: unknown) => {
      if (!(thrown instanceof LimpetError && thrown.code === 'command_finished')) throw thrown;
    });
    const { outcome } = await this.subject.end(commandId);
    tally.same(this.what(`cancel ${command} as ${commandId}`), outcome, 'cancelled');
  }

  private mismatch(what: string): void {
    this.subject.tally.mismatch(this.what(what));
  }

  private what(action: string): string {
    return `${this.subject.sessionId} (${this.subject.shell}) ${action}`;
  }
}
