import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

/** Our own files among them; empty ones do, because what is in them has no say in who may import them. */
const importedFiles = Object.entries(rules).flatMap(([layer, { allowed, forbidden }]) =>
  [...allowed, ...forbidden].filter((name) => name.startsWith('.')).map((name) => `${join(layer, name)}.ts`),
);

/**
 * What the compiler and the linter say, as `npm run check` calls them, about one file for each import under the layers'
 * own configuration. Allowed and forbidden ones apart: an error in one layer must not be what refuses another.
 */
function complaintsAbout(kind: 'allowed' | 'forbidden'): string {
  const copy = mkdtempSync(join(tmpdir(), 'limpet-layers-'));
  try {
    const layers = Object.keys(rules);
    const configuration = layers.map((layer) => `${layer}/tsconfig.json`);
    for (const name of [...configuration, 'package.json', 'tsconfig.base.json', 'biome.json', '.gitignore']) {
      cpSync(name, join(copy, name));
    }
    // The packages are shared, but not the compiler's cache among them.
    mkdirSync(join(copy, 'node_modules'));
    for (const name of readdirSync('node_modules')) {
      if (name !== '.cache') symlinkSync(join(process.cwd(), 'node_modules', name), join(copy, 'node_modules', name));
    }
    for (const file of importedFiles) writeFileSync(join(copy, file), 'export {};\n');
    for (const [layer, imports] of Object.entries(rules)) {
      for (const imported of imports[kind]) {
        writeFileSync(join(copy, fileFor(layer, imported)), `export * as imported from '${imported}';\n`);
      }
    }
    return [
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
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

describe('the layers', () => {
  let complaints: Record<'allowed' | 'forbidden', string>;

  before(function () {
    this.timeout(120_000);
    complaints = { allowed: complaintsAbout('allowed'), forbidden: complaintsAbout('forbidden') };
  });

  it('are asked about files that exist', () => {
    assert.deepEqual(
      importedFiles.filter((file) => !existsSync(file)),
      [],
    );
  });

  for (const [layer, { allowed, forbidden }] of Object.entries(rules)) {
    /** An error of the compiler or the linter, at a line of the file. */
    const isRefused = (kind: 'allowed' | 'forbidden', imported: string) =>
      [`${fileFor(layer, imported)}(1,`, `${fileFor(layer, imported)}:1:`].some((at) => complaints[kind].includes(at));

    it(`let ${layer}/ import ${allowed.join(', ')}`, () => {
      assert.deepEqual(
        allowed.filter((imported) => isRefused('allowed', imported)),
        [],
      );
    });

    for (const imported of forbidden) {
      it(`do not let ${layer}/ import ${imported}`, () => {
        assert.ok(isRefused('forbidden', imported), 'neither the compiler nor the linter refuses it');
      });
    }
  }
});
