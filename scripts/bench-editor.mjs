import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withAgent } from './agent-tests.mjs';
import { ensureCodeServer } from './code-server.mjs';
import { packageExtension } from './package.mjs';
import { root, run } from './run.mjs';

/** The same commands through our tool, the editor's own and its terminals, in one editor. */
const results = join(root, 'test-results');
await mkdir(results, { recursive: true });
await packageExtension({ quiet: true });
await withAgent(await ensureCodeServer(), (facts) =>
  run(process.execPath, ['--import', 'tsx', 'test/editor/agent/bench.ts', ...process.argv.slice(2)], {
    cwd: root,
    env: { ...process.env, LIMPET_TEST_AGENT: JSON.stringify(facts), LIMPET_TEST_RESULTS: results },
  }),
);
