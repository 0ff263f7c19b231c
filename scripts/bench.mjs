import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { root } from './run.mjs';

// As it is shipped: what runs TypeScript directly keeps the names of functions, which costs every closure a moment.
const outdir = mkdtempSync(join(root, 'node_modules', '.limpet-bench-'));
try {
  const children = readdirSync(join(root, 'bench', 'children')).map((name) => `bench/children/${name}`);
  buildSync({
    entryPoints: ['bench/main.ts', ...children],
    outdir,
    outbase: 'bench',
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    external: ['esbuild'],
    logLevel: 'error',
    absWorkingDir: root,
  });
  const { status } = spawnSync(process.execPath, [join(outdir, 'main.js'), ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(outdir, { recursive: true, force: true });
}
