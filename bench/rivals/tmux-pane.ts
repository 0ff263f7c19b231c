import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Rival } from './rival';

const execute = promisify(execFile);

/** A terminal pane: keys are sent, tmux's own channel says when the line was reached; undefined where tmux is missing. */
export async function tmuxPane(): Promise<Rival | undefined> {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), 'limpet-bench-tmux-'));
  const server = ['-S', join(directory, 'socket'), '-f', '/dev/null'];
  await execute('tmux', [...server, 'new-session', '-d', '-s', 'bench', 'bash --norc --noprofile']);
  let count = 0;
  return {
    name: 'tmux pane',
    async run(command) {
      const channel = `done-${++count}`;
      const line = `${command}; tmux -S ${join(directory, 'socket')} wait-for -S ${channel}`;
      await execute('tmux', [...server, 'send-keys', '-t', 'bench', line, 'Enter']);
      await execute('tmux', [...server, 'wait-for', channel]);
      await execute('tmux', [...server, 'capture-pane', '-p', '-t', 'bench']);
    },
    async dispose() {
      await execute('tmux', [...server, 'kill-server']);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
