import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onInterrupt } from './interrupt.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a program to its end with its output shown, or collected when `quiet`. Rejects if it fails. */
export function run(command, args, { quiet = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
      ...options,
    });
    let output = '';
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    const ended = new Promise((done) => child.once('close', done));
    const forget = onInterrupt(() => {
      child.kill('SIGTERM');
      return ended;
    });
    child.once('error', (error) => {
      forget();
      reject(error);
    });
    child.once('close', (code, signal) => {
      forget();
      if (code === 0) resolve(output);
      else {
        const shown = output === '' ? '' : `\n${output}`;
        reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? `exit code ${code}`}${shown}`));
      }
    });
  });
}

/** Says every few seconds that a long step is still going on, so that nobody takes it for hung. */
export async function withProgress(title, work) {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  console.log(`${title} …`);
  const timer = setInterval(() => console.log(`${title} … ${seconds()} s`), 10_000);
  try {
    const result = await work();
    console.log(`${title}: done in ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** Polls until `probe` gives something truthy. */
export async function until(what, probe, { timeoutMs = 30_000, everyMs = 50 } = {}) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs / 1000} s in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
