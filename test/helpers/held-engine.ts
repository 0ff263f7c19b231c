import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkpoint } from '../../sidecar/checkpoints';
import { until } from './engine';
import type { Succession } from './killable-engine';
import { programs } from './sidecar';

/** Opens an engine that stands still at a point on its way to being open, and kills it there. */
export async function killedWhileOpening({ root, runtimeDir, stateDir }: Succession, point: Checkpoint): Promise<void> {
  const mark = join(root, `held at ${point}`);
  const child = fork(programs().killableEngine, [runtimeDir, stateDir, point, mark], { execArgv: [] });
  const gone = once(child, 'exit');
  try {
    await until(`the engine is held at ${point}`, () => existsSync(mark));
  } finally {
    child.kill('SIGKILL');
    await gone;
  }
}
