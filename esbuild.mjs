import { context } from 'esbuild';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');

/** Everything we ship is a single CommonJS file per program; only `vscode` comes from the host. */
const shared = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  sourcemap: production ? false : 'linked',
  minify: production,
  legalComments: 'none',
  mainFields: ['module', 'main'],
  logLevel: 'info',
};

const programs = [
  { entryPoints: { extension: 'extension/main.ts' } },
  { entryPoints: { sidecar: 'sidecar/main.ts' }, external: [], banner: { js: '#!/usr/bin/env node' } },
  { entryPoints: { limpet: 'cli/main.ts' }, external: [], banner: { js: '#!/usr/bin/env node' } },
];

for (const program of programs) {
  const build = await context({ ...shared, outdir: 'dist', ...program });
  if (watch) {
    await build.watch();
  } else {
    await build.rebuild();
    await build.dispose();
  }
}
