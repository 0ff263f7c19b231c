import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { vsce } from './package.mjs';
import { root } from './run.mjs';

/** Builds the extension that runs test/editor/suite inside the editor, into `folder`. */
export async function buildTestHost(folder) {
  const suite = join(root, 'test', 'editor', 'suite');
  const suites = (await readdir(suite)).filter((name) => name.endsWith('.test.ts'));
  await build({
    entryPoints: [join(root, 'test', 'editor', 'host', 'main.ts'), ...suites.map((name) => join(suite, name))],
    outbase: join(root, 'test', 'editor'),
    outdir: join(folder, 'out'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
    mainFields: ['module', 'main'],
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  const manifest = {
    name: 'limpet-editor-tests',
    displayName: 'Limpet editor tests',
    publisher: 'limpet',
    version: '0.0.0',
    engines: { vscode: '^1.101.0' },
    main: './out/host/main.js',
    activationEvents: ['onStartupFinished'],
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  return folder;
}

export async function packageTestHost(folder) {
  const vsix = join(folder, 'tests.vsix');
  await vsce(folder, vsix);
  return vsix;
}
