import { mkdir } from 'node:fs/promises';
import { withAgent } from './agent-tests.mjs';
import { ensureCodeServer } from './code-server.mjs';
import { results, throughTheWindow } from './editor-tests.mjs';
import { packageExtension } from './package.mjs';
import { root, run } from './run.mjs';

await mkdir(results, { recursive: true });
await packageExtension({ quiet: true });
const codeServer = await ensureCodeServer();

/** What a person waits for, beside the editor's own terminal and while a flood is printed. */
const figures = await throughTheWindow(codeServer, 'test/editor/window/*.bench.ts');
if (figures.failed > 0) process.exitCode = 1;

/** The same commands through our tool, the editor's own and its terminals, in one editor. */
await withAgent(codeServer, (facts) =>
  run(process.execPath, ['--import', 'tsx', 'test/editor/agent/bench.ts', ...process.argv.slice(2)], {
    cwd: root,
    env: { ...process.env, LIMPET_TEST_AGENT: JSON.stringify(facts), LIMPET_TEST_RESULTS: results },
  }),
);
