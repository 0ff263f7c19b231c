import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** layer → what a file in it may and may not import */
const rules: Record<string, { allowed: string[]; forbidden: string[] }> = {
  protocol: {
    allowed: ['zod', './errors'],
    forbidden: [
      'vscode',
      'node:fs',
      'vscode-jsonrpc/node',
      '../client/client',
      '../sidecar/server',
      '../extension/main',
    ],
  },
  client: {
    allowed: ['node:fs', 'vscode-jsonrpc/node', '../protocol/errors'],
    forbidden: ['vscode', '../cli/main', '../sidecar/server', '../extension/main'],
  },
  cli: {
    allowed: ['node:fs', '../client/client', '../protocol/errors'],
    forbidden: ['vscode', '../sidecar/server', '../extension/main'],
  },
  sidecar: {
    allowed: ['node:fs', 'async-mutex', '../protocol/errors'],
    forbidden: ['vscode', '../client/client', '../cli/main', '../extension/main'],
  },
  extension: {
    allowed: ['vscode', 'node:fs', '../client/client', '../protocol/errors'],
    forbidden: ['../sidecar/server', '../cli/main'],
  },
};

const fileFor = (layer: string, imported: string) => `${layer}/imports-${imported.replace(/[^a-z]+/g, '-')}.ts`;

describe('the layers', () => {
  let copy: string;
  let complaints: string;

  /** A copy of the source with one more file for each import, checked once as `npm run check` does. */
  before(function () {
    this.timeout(120_000);
    copy = mkdtempSync(join(tmpdir(), 'limpet-layers-'));
    const layers = Object.keys(rules);
    for (const name of [...layers, 'package.json', 'tsconfig.base.json', 'biome.json', '.gitignore']) {
      cpSync(name, join(copy, name), { recursive: true });
    }
    // The packages are shared, but not the compiler's cache among them.
    mkdirSync(join(copy, 'node_modules'));
    for (const name of readdirSync('node_modules')) {
      if (name !== '.cache') symlinkSync(join(process.cwd(), 'node_modules', name), join(copy, 'node_modules', name));
    }
    for (const [layer, { allowed, forbidden }] of Object.entries(rules)) {
      for (const imported of [...allowed, ...forbidden]) {
        writeFileSync(join(copy, fileFor(layer, imported)), `export * as imported from '${imported}';\n`);
      }
    }
    complaints = [
      ['tsc', '-b', ...layers],
      ['biome', 'check', '--error-on-warnings', '--colors=off', '--max-diagnostics=none', ...layers],
    ]
      .map(([tool = '', ...args]) => {
        const { stdout, stderr } = spawnSync(join(copy, 'node_modules', '.bin', tool), args, {
          cwd: copy,
          encoding: 'utf8',
          maxBuffer: 64 * 1024 * 1024,
        });
        return stdout + stderr;
      })
      .join('\n');
  });

  after(() => rmSync(copy, { recursive: true, force: true }));

  /** An error of the compiler or the linter, at a line of the file. */
  const isRefused = (file: string) => complaints.includes(`${file}(1,`) || complaints.includes(`${file}:1:`);

  for (const [layer, { allowed, forbidden }] of Object.entries(rules)) {
    it(`let ${layer}/ import ${allowed.join(', ')}`, () => {
      assert.deepEqual(
        allowed.filter((imported) => isRefused(fileFor(layer, imported))),
        [],
      );
    });

    for (const imported of forbidden) {
      it(`do not let ${layer}/ import ${imported}`, () => {
        assert.ok(isRefused(fileFor(layer, imported)), 'neither the compiler nor the linter refuses it');
      });
    }
  }
});
