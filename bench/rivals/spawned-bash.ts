import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Rival } from './rival';

/** A new process for every command, which is what most tools do. */
export function spawnedBash(...options: string[]): Rival {
  return {
    name: `bash ${[...options, '-c'].join(' ')}`,
    async run(command) {
      const child = spawn('bash', [...options, '-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.resume();
      child.stderr.resume();
      await once(child, 'close');
    },
    async dispose() {},
  };
}
