import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Limits } from '../../protocol/limits';
import type { Params, Result } from '../../protocol/methods';
import type { CommandResult, SessionInfo } from '../../protocol/values';
import type { Checkpoint } from '../../sidecar/checkpoints';
import { Engine } from '../../sidecar/engine/engine';
import type { Request } from '../fixtures/killable-engine';
import { until } from './engine';
import { programs } from './sidecar';

interface Answer {
  id: number;
  result?: unknown;
  error?: string;
}

/** Directories in which one engine after the other is opened, each killed or left by the one before. */
export class Succession {
  private readonly children: KillableEngine[] = [];
  private readonly engines: Engine[] = [];

  private constructor(
    readonly root: string,
    private readonly limits: Partial<Limits>,
  ) {}

  static async begin(limits: Partial<Limits> = {}): Promise<Succession> {
    return new Succession(await realpath(await mkdtemp(join(tmpdir(), 'limpet-test-'))), limits);
  }

  get runtimeDir(): string {
    return join(this.root, 'run');
  }

  get stateDir(): string {
    return join(this.root, 'state');
  }

  /** An engine in a process of its own. */
  async killable(env: NodeJS.ProcessEnv = {}): Promise<KillableEngine> {
    const given = { ...env, LIMPET_TEST_LIMITS: JSON.stringify(this.limits) };
    const engine = await KillableEngine.start(this.runtimeDir, this.stateDir, given);
    this.children.push(engine);
    return engine;
  }

  /** The engine that goes on, in this process. */
  async next(): Promise<Engine> {
    const { runtimeDir, stateDir, limits } = this;
    const engine = await Engine.open({ runtimeDir, stateDir, limits });
    this.engines.push(engine);
    return engine;
  }

  /** Ends everything: a last engine adopts what is left, and destroys it. */
  async end(): Promise<void> {
    for (const child of this.children) await child.kill();
    for (const engine of this.engines) await engine.close();
    await (await Engine.open({ runtimeDir: this.runtimeDir, stateDir: this.stateDir })).close();
    await rm(this.root, { recursive: true, force: true });
  }
}

export class KillableEngine {
  private nextId = 1;
  private readonly waiting = new Map<number, (answer: Answer) => void>();

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer: Answer) => {
      this.waiting.get(answer.id)?.(answer);
      this.waiting.delete(answer.id);
    });
  }

  static async start(runtimeDir: string, stateDir: string, env: NodeJS.ProcessEnv): Promise<KillableEngine> {
    const child = fork(programs().killableEngine, [runtimeDir, stateDir], {
      ...{ execArgv: [], env: { ...process.env, ...env } },
    });
    const engine = new KillableEngine(child);
    await new Promise<void>((resolve) => engine.waiting.set(0, () => resolve()));
    return engine;
  }

  create(params: Params<'session.create'>): Promise<SessionInfo> {
    return this.call('createSession', params) as Promise<SessionInfo>;
  }

  run(params: Params<'exec.run'>): Promise<CommandResult> {
    return this.call('run', params) as Promise<CommandResult>;
  }

  start(params: Params<'exec.start'>): Promise<Result<'exec.start'>> {
    return this.call('start', params) as Promise<Result<'exec.start'>>;
  }

  wait(params: Params<'exec.wait'>): Promise<Result<'exec.wait'>> {
    return this.call('wait', params) as Promise<Result<'exec.wait'>>;
  }

  output(params: Params<'exec.output'>): Promise<Result<'exec.output'>> {
    return this.call('output', params) as Promise<Result<'exec.output'>>;
  }

  async call(call: NonNullable<Request['call']>, params: unknown): Promise<unknown> {
    const { result, error } = await this.send({ call, params: params as never });
    if (error !== undefined) throw new Error(error);
    return result;
  }

  /** Asks for something whose answer will not come, because the engine is held or killed before. */
  ask(call: NonNullable<Request['call']>, params: unknown): void {
    void this.send({ call, params: params as never });
  }

  /** Makes it stand still when it comes to a point. Answers with a wait for that. */
  async holdAt(hold: Checkpoint, mark: string, after = 0): Promise<() => Promise<void>> {
    await this.send({ hold, mark, after });
    return () => until(`the engine is held at ${hold}`, () => existsSync(mark));
  }

  /** SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  private send(request: Omit<Request, 'id'>): Promise<Answer> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.child.send({ id, ...request });
    });
  }
}
