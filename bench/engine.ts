import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../sidecar/engine/engine';
import type { Rival } from './rivals/rival';

export interface OpenedEngine {
  engine: Engine;
  /** A directory of its own, for what a row needs. */
  directory: string;
  runtimeDir: string;
  stateDir: string;
  dispose(): Promise<void>;
}

export async function openEngine(): Promise<OpenedEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'limpet-bench-'));
  const [runtimeDir, stateDir] = [join(directory, 'run'), join(directory, 'state')];
  const engine = await Engine.open({ runtimeDir, stateDir });
  return {
    engine,
    directory,
    runtimeDir,
    stateDir,
    async dispose() {
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A session of the engine as one contender among the others. */
export async function limpetSession(shell = 'bash'): Promise<Rival> {
  const { engine, directory, dispose } = await openEngine();
  const { sessionId } = await engine.createSession({ shell, cwd: directory });
  return {
    name: `limpet ${shell}`,
    async run(command) {
      await engine.run({ sessionId, command });
    },
    dispose,
  };
}
