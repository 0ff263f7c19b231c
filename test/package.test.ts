import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import manifest from '../package.json';

const vsix = 'dist/limpet.vsix';

const expected = [
  /^extension\/package(\.nls)?\.json$/,
  /^extension\/limpet\.d\.ts$/,
  /^extension\/(readme\.md|changelog\.md|LICENSE\.txt)$/,
  /^extension\/dist\/(extension|sidecar|limpet)\.js$/,
  /^extension\/docs\/[A-Z_]+\.md$/,
  /^extension\/l10n\/bundle\.l10n(\.[\w-]+)?\.json$/,
  /^extension\/syntaxes\/[\w-]+\.tmLanguage\.json$/,
  /^extension\/media\/[\w-]+\.(svg|png)$/,
  /^extension\/skills\/[\w-]+\/SKILL\.md$/,
  // What makes a zip file a .vsix.
  /^extension\.vsixmanifest$/,
  /^\[Content_Types\]\.xml$/,
];

describe('the package', () => {
  let files: string[];

  before(() => {
    assert.ok(existsSync(vsix), 'there is no dist/limpet.vsix: run npm run package');
    files = namesInZip(readFileSync(vsix));
  });

  it('holds what a user needs and nothing else', () => {
    assert.deepEqual(
      files.filter((name) => !expected.some((pattern) => pattern.test(name))),
      [],
    );
    assert.equal(new Set(files).size, files.length);
  });

  it('holds every file that the manifest, the extension and the README refer to', () => {
    const images = [...readFileSync('README.md', 'utf8').matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => path);
    const referred = [
      manifest.main,
      manifest.icon,
      ...Object.values(manifest.bin),
      ...manifest.contributes.viewsContainers.activitybar.map(({ icon }) => icon),
      ...manifest.contributes.views.limpet.map(({ icon }) => icon),
      ...manifest.contributes.grammars.map(({ path }) => path),
      ...manifest.contributes.walkthroughs.flatMap(({ icon, steps }) => [
        icon,
        ...steps.map(({ media }) => media.image),
      ]),
      'dist/sidecar.js',
      'package.nls.json',
      'package.json',
      'readme.md',
      'changelog.md',
      'LICENSE.txt',
      ...images,
    ].map((path) => `extension/${path?.replace(/^\.\//, '')}`);
    assert.deepEqual(
      referred.filter((name) => !files.includes(name)),
      [],
    );
  });

  it('has a text for every key of the manifest, and none besides', () => {
    const keys = [...readFileSync('package.json', 'utf8').matchAll(/"%([\w.]+)%"/g)].map(([, key]) => key);
    const texts = Object.keys(JSON.parse(readFileSync('package.nls.json', 'utf8')));
    assert.deepEqual([...new Set(keys)].sort(), texts.sort());
  });

  it('is smaller than 2 MB', () => {
    assert.ok(statSync(vsix).size < 2_000_000);
  });

  it('needs no module that is not in it, besides vscode in the extension', () => {
    // A call inside quotes is text: a library that writes programs has some.
    const foreign = (program: string) =>
      [...readFileSync(`dist/${program}.js`, 'utf8').matchAll(/(?<!['"`])\brequire\("([^"]+)"\)/g)]
        .map(([, name = '']) => name.replace(/^node:/, ''))
        .filter((name) => !builtinModules.includes(name));
    assert.deepEqual([...new Set(foreign('extension'))], ['vscode']);
    assert.deepEqual(foreign('sidecar'), []);
    assert.deepEqual(foreign('limpet'), []);
  });
});

/** The names in a zip file's table of contents, which is at its end. */
function namesInZip(zip: Buffer): string[] {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  const count = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  return Array.from({ length: count }, () => {
    const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)];
    const text = zip.toString('utf8', at + 46, at + 46 + name);
    at += 46 + name + extra + comment;
    return text;
  });
}
