import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Line, LineClient } from './line-client';
import { processesMarked } from './processes';
import { type RunningProgram, Sandbox, until } from './sidecar';

export const long = process.env.LIMPET_LONG === '1';

/** What a case has measured, where whoever reads the report finds it. */
export const figure = (text: string): void => console.log(`      → ${text}`);

/** A case that cannot be tried here is skipped, and says why. */
export function skipBecause(test: Mocha.Context, reason: string): never {
  figure(`skipped: ${reason}`);
  return test.skip();
}

/** What came of it, and how many milliseconds it took. */
export async function timed<R>(work: Promise<R>): Promise<[R, number]> {
  const began = performance.now();
  const result = await work;
  return [result, Math.round(performance.now() - began)];
}

interface StationOptions {
  args?: string[];
  env?: NodeJS.ProcessEnv;
  /** A command line that the sidecar is run by, such as one that limits it. */
  prefix?: (sandbox: Sandbox) => readonly string[];
}

let stations = 0;

/** A real sidecar that faults are done to, and a client that it must go on answering. */
export class Station {
  private constructor(
    readonly sandbox: Sandbox,
    readonly program: RunningProgram,
    readonly socketPath: string,
    readonly client: LineClient,
    private readonly mark: string,
  ) {}

  static async open({ args = [], env = {}, prefix = () => [] }: StationOptions = {}): Promise<Station> {
    const sandbox = new Sandbox();
    const mark = `${process.pid}-${++stations}.`;
    try {
      const { program, path } = await sandbox.socketSidecar(args, { ...env, FAULT_STATION: mark }, prefix(sandbox));
      assert.ok(!program.ended, `the sidecar did not start: ${program.stderr}`);
      const client = await LineClient.connect(path);
      return new Station(sandbox, program, path, client, `FAULT_STATION=${mark}`);
    } catch (thrown) {
      await sandbox.dispose();
      throw thrown;
    }
  }

  get pid(): number {
    return this.program.pid;
  }

  async session(params: object = {}): Promise<string> {
    return (await this.client.data('session.create', { cwd: this.sandbox.work, ...params })).session_id;
  }

  shellOf(sessionId: string): Promise<number> {
    return this.client.data('session.info', { session_id: sessionId }).then(({ pid }) => pid);
  }

  ask(sessionId: string, command: string, params: object = {}): Promise<Line> {
    return this.client.request('exec.run', { session_id: sessionId, command, ...params });
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever came over the wire, for a test to compare
  run(sessionId: string, command: string, params: object = {}): Promise<any> {
    return this.client.data('exec.run', { session_id: sessionId, command, ...params });
  }

  async start(sessionId: string, command: string, params: object = {}): Promise<string> {
    return (await this.client.data('exec.start', { session_id: sessionId, command, ...params })).command_id;
  }

  /** Resolves when the session, left alone for a moment, has saved its state with this word in it. */
  async saved(sessionId: string, word: string): Promise<void> {
    const snapshot = join(this.sandbox.runtimeDir, 'sessions', sessionId, 'snapshot');
    await until(() => existsSync(snapshot) && readFileSync(snapshot, 'utf8').includes(word), 'the state is saved');
  }

  /** The promise that every case ends with: what comes next is exact. */
  async assertNextCommandWorks(sessionId: string): Promise<void> {
    const word = `w${Math.random()}`;
    const { outcome, exit_code, stdout, stderr } = await this.run(
      sessionId,
      `echo ${word}; echo ${word} >&2; (exit 7)`,
      {
        timeout_ms: 20_000,
      },
    );
    assert.deepEqual(
      { outcome, exit_code, stdout, stderr },
      { outcome: 'exited', exit_code: 7, stdout: `${word}\n`, stderr: `${word}\n` },
    );
  }

  /** The longest an answer took while nothing went on: what others are measured by, on a machine that may be busy itself. */
  async slowestIdleAnswer(): Promise<number> {
    return this.slowestAnswerDuring(async () => {
      for (let n = 0; n < 20; n++) await this.client.data('system.ping');
    });
  }

  /** Asks all the time while something goes on, and answers with the longest an answer took, in milliseconds. */
  async slowestAnswerDuring(work: () => Promise<unknown>): Promise<number> {
    const asking = await LineClient.connect(this.socketPath);
    let slowest = 0;
    let isOver = false;
    const ask = async () => {
      while (!isOver) {
        const asked = performance.now();
        assert.equal((await asking.request('system.ping')).ok, true);
        slowest = Math.max(slowest, performance.now() - asked);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const asks = ask();
    try {
      await work();
    } finally {
      isOver = true;
      await asks.finally(() => asking.dispose());
    }
    return slowest;
  }

  /** Processes that came from this sidecar, itself not counted. */
  descendants(): number[] {
    return processesMarked(this.mark).filter((pid) => pid !== this.pid);
  }

  /** What is left in the runtime directory, apart from what was made ahead for sessions to come. */
  leftovers(): string[] {
    const { runtimeDir } = this.sandbox;
    if (!existsSync(runtimeDir)) return [];
    return readdirSync(runtimeDir, { recursive: true, encoding: 'utf8' })
      .filter((name) => name !== 'sessions' && !name.includes('spare-'))
      .toSorted();
  }

  /** Ends the sidecar as a person would, and asserts that nothing of it is left. */
  async endCleanly(): Promise<number> {
    const asked = performance.now();
    assert.equal(await this.program.kill('SIGTERM'), 0);
    const took = performance.now() - asked;
    await until(() => this.descendants().length === 0, 'every process is gone', 3000);
    assert.deepEqual(this.leftovers(), []);
    return took;
  }

  /** Lines of the sidecar's own log at a level of at least "error". */
  errors(): string[] {
    return this.sandbox.log.split('\n').filter((line) => /"level":(50|60)/.test(line));
  }

  async dispose(): Promise<void> {
    this.client.dispose();
    await this.sandbox.dispose();
  }

  file(...names: string[]): string {
    return join(this.sandbox.dir, ...names);
  }
}
