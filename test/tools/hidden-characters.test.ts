import assert from 'node:assert/strict';
import { hiddenCharacters } from '../../protocol/tools/hidden-characters';

describe('characters that do not show', () => {
  it('are named once each, wherever they are', () => {
    assert.deepEqual(hiddenCharacters('echo \u202egpj.x\u202c\u202e \u200b\u{e0041}\u001b[8m'), [
      'U+202E',
      'U+202C',
      'U+200B',
      'U+E0041',
      'U+001B',
    ]);
  });

  it('are none in what people write', () => {
    assert.deepEqual(hiddenCharacters('grep "naïve 日本 🦪" \\\n\t-r .\r\n'), []);
  });
});
