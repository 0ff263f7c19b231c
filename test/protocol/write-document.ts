import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { protocolDocument } from '../../protocol/document';

writeFileSync(join(__dirname, '../../docs/PROTOCOL.md'), protocolDocument());
