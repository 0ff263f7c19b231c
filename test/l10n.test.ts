import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

describe('the texts of the extension', () => {
  const sources = readdirSync('extension', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join('extension', name), 'utf8'));

  it('are all in the bundle that translations start from', () => {
    const texts = sources.flatMap((source) =>
      [...source.matchAll(/l10n\.t\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, text = '']) => text.replaceAll("\\'", "'")),
    );
    const bundle: Record<string, string> = JSON.parse(readFileSync('l10n/bundle.l10n.json', 'utf8'));
    assert.deepEqual(Object.keys(bundle).sort(), [...new Set(texts)].sort());
    assert.deepEqual(
      Object.entries(bundle).filter(([text, shown]) => text !== shown),
      [],
    );
  });

  it('are plain strings, which is what tools for translators find', () => {
    const calls = sources.flatMap((source) => source.match(/l10n\.t\(\s*./g) ?? []);
    assert.deepEqual(
      calls.filter((call) => !call.endsWith("'")),
      [],
    );
  });
});
