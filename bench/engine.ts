import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { CommandResult } from '../protocol/values';
import { Engine } from '../sidecar/engine/engine';
import { fastDirectory, ordinaryDirectory } from './directory';
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
  const [runtimeDir, stateDir, directory] = [
    await fastDirectory('run'),
    await ordinaryDirectory('state'),
    await ordinaryDirectory('work'),
  ];
  const engine = await Engine.open({ runtimeDir, stateDir });
  return {
    engine,
    directory,
    runtimeDir,
    stateDir,
    async dispose() {
      await engine.close();
      for (const made of [runtimeDir, stateDir, directory]) await rm(made, { recursive: true, force: true });
    },
  };
}

/** A command that did not do its work would be a fast one. */
export function assertDone({ outcome, exitCode, notes }: CommandResult): void {
  assert.deepEqual([outcome, exitCode, notes], ['exited', 0, []]);
}

/** A session of the engine as one contender among the others. */
export async function limpetSession(shell = 'bash'): Promise<Rival> {
  const { engine, directory, dispose } = await openEngine();
  const { sessionId } = await engine.createSession({ shell, cwd: directory });
  return {
    name: `limpet ${shell}`,
    async run(command) {
      const { exitCode } = await engine.run({ sessionId, command });
      assert.equal(exitCode, 0);
    },
    dispose,
  };
}
