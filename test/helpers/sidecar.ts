import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { SidecarClient } from '../../client/client';
import { pipePath } from '../../protocol/places';
import { processesHolding } from './processes';

const root = join(__dirname, '../..');
const sources = {
  sidecar: 'sidecar/main.ts',
  limpet: 'cli/main.ts',
  killableEngine: 'test/fixtures/killable-engine.ts',
  engineProcess: 'test/fixtures/engine-process.ts',
};
type Programs = Record<keyof typeof sources, string>;
let built: Programs | undefined;

/** The programs as they are shipped, and those of the tests, bundled from the sources of now; once per test run. */
export function programs(): Programs {
  built ??= build();
  return built;
}

function build(): Programs {
  const outdir = mkdtempSync(join(tmpdir(), 'limpet-build-'));
  process.once('exit', () => rmSync(outdir, { recursive: true, force: true }));
  buildSync({
    entryPoints: sources,
    outdir,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    logLevel: 'error',
    absWorkingDir: root,
  });
  const paths = Object.keys(sources).map((name) => [name, join(outdir, `${name}.js`)]);
  return Object.fromEntries(paths);
}

/** Waits until `find` gives something other than undefined or false. */
export async function until<T>(
  find: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  ms = 15_000,
) {
  const deadline = Date.now() + ms;
  for (;;) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
    assert.ok(Date.now() < deadline, `timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Directories of their own for the sidecars of one test, and an end to all of them. */
export class Sandbox {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'limpet-')));
  readonly runtimeDir = join(this.dir, 'run');
  readonly stateDir = join(this.dir, 'state');
  readonly work = join(this.dir, 'work');
  private readonly started: RunningProgram[] = [];
  private readonly clients: { dispose(): void }[] = [];

  constructor() {
    mkdirSync(this.work);
  }

  get env(): NodeJS.ProcessEnv {
    return { ...process.env, LIMPET_RUNTIME_DIR: this.runtimeDir, LIMPET_STATE_DIR: this.stateDir };
  }

  get pipe(): string {
    return pipePath(this.runtimeDir);
  }

  get log(): string {
    return existsSync(join(this.stateDir, 'sidecar.log'))
      ? readFileSync(join(this.stateDir, 'sidecar.log'), 'utf8')
      : '';
  }

  /** `prefix` is the command line that runs it; without one Node itself does. */
  sidecar(args: string[] = [], env: NodeJS.ProcessEnv = {}, prefix: readonly string[] = []): RunningProgram {
    return this.program(programs().sidecar, args, env, prefix);
  }

  limpet(args: string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
    return this.program(programs().limpet, args, env);
  }

  private program(
    path: string,
    args: string[],
    env: NodeJS.ProcessEnv,
    prefix: readonly string[] = [],
  ): RunningProgram {
    const running = new RunningProgram(path, args, { ...this.env, ...env }, this.work, prefix);
    this.started.push(running);
    return running;
  }

  /** A sidecar that listens on a socket in this sandbox. */
  async socketSidecar(
    args: string[] = [],
    env: NodeJS.ProcessEnv = {},
    prefix: readonly string[] = [],
  ): Promise<{ program: RunningProgram; path: string }> {
    const path = join(this.dir, 'lines.sock');
    const program = this.sidecar(['--socket', path, ...args], env, prefix);
    await until(() => existsSync(path) || program.ended, 'the socket is there');
    return { program, path };
  }

  async connect(clientName = 'test', start = true): Promise<SidecarClient> {
    const client = await SidecarClient.connect({ clientName, sidecarPath: programs().sidecar, env: this.env, start });
    this.clients.push(client);
    return client;
  }

  async dispose(): Promise<void> {
    for (const client of this.clients) client.dispose();
    for (const program of this.started) await program.kill('SIGTERM');
    // Those that a client started are nobody's children; one that lost a race may only just be starting.
    await until(() => {
      const left = sidecarsOf(this.runtimeDir);
      for (const pid of left) signalIfThere(pid, 'SIGTERM');
      return left.length === 0;
    }, 'every sidecar is gone');
    // Shells outlive a sidecar that was killed.
    for (const pid of processesHolding(this.runtimeDir)) signalIfThere(pid, 'SIGKILL');
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** One that was found a moment ago may have ended since. */
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Every process of this test run that is a sidecar of that directory. */
function sidecarsOf(runtimeDir: string): number[] {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'latin1').split('\0');
    } catch {
      return [];
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(programs().sidecar))
    .filter((pid) => read(`/proc/${pid}/environ`).includes(`LIMPET_RUNTIME_DIR=${runtimeDir}`))
    .map(Number);
}

/** A child process with everything it said. */
export class RunningProgram {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  ended = false;
  private readonly closing: Promise<unknown>;

  constructor(path: string, args: string[], env: NodeJS.ProcessEnv, cwd: string, prefix: readonly string[] = []) {
    const [program = process.execPath, ...words] = [...prefix, process.execPath, path, ...args];
    this.child = spawn(program, words, { env, cwd, stdio: 'pipe' });
    this.child.stdout?.on('data', (data: Buffer) => {
      this.stdout += data;
    });
    this.child.stderr?.on('data', (data: Buffer) => {
      this.stderr += data;
    });
    this.child.stdin?.on('error', () => undefined);
    this.closing = once(this.child, 'close').then(() => {
      this.ended = true;
    });
  }

  get pid(): number {
    assert.ok(this.child.pid !== undefined);
    return this.child.pid;
  }

  /** Resolves with the exit code, or the name of the signal that ended it. */
  async end(): Promise<number | string> {
    await this.closing;
    return this.child.exitCode ?? this.child.signalCode ?? 'unknown';
  }

  type(text: string): this {
    this.child.stdin?.write(text);
    return this;
  }

  endInput(text = ''): this {
    this.child.stdin?.end(text);
    return this;
  }

  async kill(signal: NodeJS.Signals): Promise<number | string> {
    if (!this.ended) this.child.kill(signal);
    return this.end();
  }
}

export const rssOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
