import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from './sidecar';

/** Why the system's calls cannot be meddled with here, if so. */
export function whyNoStrace(): string | undefined {
  const { status, stderr, error } = spawnSync('strace', ['-e', 'inject=getuid:error=EIO', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  });
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? undefined : `strace may not trace here (${stderr.trim()})`;
}

interface InjectionOptions {
  pids: readonly number[];
  /** The calls and what is done to them, in strace's words. */
  injected: string;
  /** Only calls on these files; on any if none is named. */
  paths: readonly string[];
  /** Also of their other threads, and of what they start. */
  withChildren?: boolean;
  /** Where strace writes. */
  report: string;
}

/** Makes system calls of processes fail or take long, until it is told to stop. */
export class Injection {
  private constructor(
    private readonly strace: ChildProcess,
    private readonly report: string,
  ) {}

  static async begin({ pids, injected, paths, withChildren = false, report }: InjectionOptions): Promise<Injection> {
    const calls = injected.slice(0, injected.indexOf(':'));
    const args = [
      ...(withChildren ? ['-f'] : []),
      ...pids.flatMap((pid) => ['-p', String(pid)]),
      ...['-e', `trace=${calls}`, '-e', `inject=${injected}`, '-o', report],
      ...paths.flatMap((path) => ['-P', path]),
    ];
    const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    strace.stderr?.on('data', (data) => {
      said += data;
    });
    const isAttached = () => pids.every((pid) => new RegExp(`Process ${pid} attached`).test(said));
    await until(() => isAttached() || strace.exitCode !== null, 'strace is attached');
    assert.equal(strace.exitCode, null, said);
    return new Injection(strace, report);
  }

  /** How many calls were meddled with until now. */
  get count(): number {
    return readFileSync(this.report, 'utf8').split(/\((?:INJECTED|DELAYED)\)/).length - 1;
  }

  /** Ends it and counts the calls that were meddled with. */
  async end(): Promise<number> {
    if (this.strace.exitCode === null && this.strace.signalCode === null) {
      const closed = once(this.strace, 'close');
      this.strace.kill('SIGINT');
      await closed;
    }
    return this.count;
  }
}
