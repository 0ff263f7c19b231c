import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contributedTools } from '../../protocol/tools/definitions';

const path = join(__dirname, '../../package.json');
const manifest = JSON.parse(readFileSync(path, 'utf8'));
manifest.contributes.languageModelTools = contributedTools();
writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
