import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { protocolDocument } from '../../protocol/document';

describe('docs/PROTOCOL.md', () => {
  it('says what the schemas say; "npx tsx test/protocol/write-document.ts" writes it anew', () => {
    assert.equal(readFileSync(join(__dirname, '../../docs/PROTOCOL.md'), 'utf8'), protocolDocument());
  });
});
