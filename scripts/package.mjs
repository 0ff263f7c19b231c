import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run } from './run.mjs';

export const vsixPath = join(root, 'dist', 'limpet.vsix');

/** Builds for production and packs exactly what .vscodeignore lets in. */
export async function packageExtension({ quiet = false } = {}) {
  await rm(vsixPath, { force: true });
  await run(process.execPath, ['esbuild.mjs', '--production'], { quiet, cwd: root });
  await vsce(root, vsixPath, { quiet });
  const { size } = await stat(vsixPath);
  console.log(`dist/limpet.vsix: ${(size / 1024).toFixed(0)} KiB`);
  return vsixPath;
}

/** Packs the extension in `folder`. The flags keep it from asking for what a local package does not need. */
export function vsce(folder, out, { quiet = true } = {}) {
  const program = join(root, 'node_modules', '@vscode', 'vsce', 'vsce');
  const flags = ['--no-dependencies', '--no-rewrite-relative-links', '--allow-missing-repository', '--skip-license'];
  return run(process.execPath, [program, 'package', ...flags, '--out', out], { quiet, cwd: folder });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await packageExtension();
