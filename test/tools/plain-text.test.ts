import assert from 'node:assert/strict';
import fc from 'fast-check';
import { byteLength, decodeBytes, plainText } from '../../protocol/tools/plain-text';

describe('output as a model reads it', () => {
  const cases: [what: string, raw: string, plain: string][] = [
    ['has no colours', '\x1b[1;31mred\x1b[0m plain', 'red plain'],
    ['has no cursor movements and modes', '\x1b[?25l\x1b[2K\x1b[1Gdone\x1b[?25h\x1b(B', 'done'],
    ['has no titles', '\x1b]0;title\x07a\x1b]2;other\x1b\\b', 'ab'],
    ['keeps the text of links', '\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['has only the last state of a progress line', 'a\n10%\r50%\r100%\nb\n', 'a\n100%\nb\n'],
    ['keeps a progress line that ends with a return', '10%\r100%\r\nnext', '100%\nnext'],
    ['has plain line ends', 'a\r\nb\r\n', 'a\nb\n'],
    ['applies backspaces', 'abc\b\bXY', 'aXY'],
    ['shows other control characters', 'a\0b\x7fc\td', 'a\\x00b\\x7fc\td'],
    ['leaves everything else as it is', 'ünï → 日本 👍\n\n  x', 'ünï → 日本 👍\n\n  x'],
  ];
  for (const [what, raw, plain] of cases) it(what, () => assert.equal(plainText(raw), plain));

  it('shows what is text of bytes that are not', () => {
    const shown = (...bytes: number[]) => decodeBytes(Buffer.from(bytes).toString('base64'), 'base64');
    assert.equal(shown(0x61, 0xff, 0x62), 'a\ufffdb');
    assert.equal(shown(0xc3, 0xbc, 0xc3), 'ü\ufffd');
    assert.equal(shown(0xed, 0xa0, 0x80), '\ufffd\ufffd\ufffd');
  });

  it('decodes and counts any text as Buffer does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const bytes = Buffer.from(text);
        assert.equal(decodeBytes(bytes.toString('base64'), 'base64'), bytes.toString());
        assert.equal(byteLength(text), bytes.length);
      }),
    );
  });
});
