import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endGroup } from './end-group.mjs';
import { onInterrupt } from './interrupt.mjs';
import { root } from './run.mjs';

/** Runs mocha as a process of its own and answers with its figures; a run that breaks off counts as a failure. */
export async function mocha(args, env = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'limpet-report-'));
  const report = join(folder, 'report.json');
  try {
    const program = join(root, 'node_modules', 'mocha', 'lib', 'cli', 'cli.js');
    const reporter = join(root, 'scripts', 'mocha-reporter.mjs');
    const code = await new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ['--import', 'tsx', program, '--reporter', reporter, ...args], {
        cwd: root,
        // A group of its own, so that it can be ended with everything it started.
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, LIMPET_TEST_REPORT: report, ...env },
      });
      const forget = onInterrupt(() => endGroup(child, ['SIGINT', 'SIGKILL']));
      child.once('error', reject);
      child.once('close', (exitCode) => {
        forget();
        resolve(exitCode);
      });
    });
    const figures = JSON.parse(await readFile(report, 'utf8').catch(() => 'null'));
    if (figures === null) throw new Error(`mocha broke off with exit code ${code}`);
    if (code !== 0 && figures.failed === 0) throw new Error(`mocha ended with exit code ${code} after its tests`);
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
