import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process of its own for what the harness's memory, descriptors or children would disturb. */
export class Child {
  private constructor(private readonly process: ChildProcess) {}

  static async start(program: string): Promise<Child> {
    const child = fork(join(__dirname, 'children', program), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new Child(child);
  }

  async ask<A>(question: string): Promise<A> {
    const settled = new AbortController();
    const { signal } = settled;
    const gone = once(this.process, 'exit', { signal }).then(() => {
      throw new Error(`The child ended while it was asked "${question}".`);
    });
    this.process.send(question);
    try {
      const [answer] = await Promise.race([once(this.process, 'message', { signal }), gone]);
      return answer as A;
    } finally {
      // Takes the listeners away; the promise that lost must not count as unhandled.
      gone.catch(() => {});
      settled.abort();
    }
  }

  async dispose(): Promise<void> {
    if (this.process.exitCode !== null) return;
    this.process.disconnect();
    await once(this.process, 'exit');
  }
}
