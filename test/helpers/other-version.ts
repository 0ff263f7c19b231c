import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(__dirname, '../..');

/** The sidecar of now, bundled as one that says it is of another version. */
export async function sidecarOfVersion(version: string): Promise<string> {
  const outdir = mkdtempSync(join(tmpdir(), 'limpet-build-'));
  process.once('exit', () => rmSync(outdir, { recursive: true, force: true }));
  await build({
    entryPoints: { sidecar: 'sidecar/main.ts' },
    outdir,
    bundle: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    logLevel: 'error',
    absWorkingDir: root,
    plugins: [
      {
        name: 'version',
        setup: ({ onLoad }) => {
          onLoad({ filter: /package\.json$/ }, ({ path }) => {
            if (path !== join(root, 'package.json')) return undefined;
            const contents = JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), version });
            return { contents, loader: 'json' };
          });
        },
      },
    ],
  });
  return join(outdir, 'sidecar.js');
}
