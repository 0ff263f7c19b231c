import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process of its own for what the harness's memory, descriptors or children would disturb. */
export class Child {
  private constructor(private readonly process: ChildProcess) {}

  static async start(program: string): Promise<Child> {
    const child = fork(join(__dirname, 'children', program), {
      execArgv: ['--expose-gc', '--import', 'tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new Child(child);
  }

  async ask<A>(question: string): Promise<A> {
    this.process.send(question);
    const answer = await Promise.race([once(this.process, 'message'), once(this.process, 'exit')]);
    if (this.process.exitCode !== null) throw new Error(`The child ended while it was asked "${question}".`);
    return answer[0] as A;
  }

  async dispose(): Promise<void> {
    if (this.process.exitCode !== null) return;
    this.process.disconnect();
    await once(this.process, 'exit');
  }
}
