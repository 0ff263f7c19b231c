import { spawn } from 'node:child_process';
import type { Command } from '../command';

export const serve: Command = {
  name: 'serve',
  summary: 'Run a sidecar in the foreground',
  usage: `limpet serve [sidecar options]

Passes its options on: --socket PATH, --http HOST:PORT, --stdin, --stdio, … See "limpet serve --help".`,
  options: {},

  run({ env, sidecarPath }, { positionals }) {
    const child = spawn(process.execPath, [sidecarPath, ...positionals], { stdio: 'inherit', env });
    // The terminal signals both of us; the sidecar decides when it is done.
    const passOn = (signal: NodeJS.Signals) => child.kill(signal);
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', passOn);
    process.on('SIGHUP', passOn);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => resolve(code ?? 1));
    });
  },
};
