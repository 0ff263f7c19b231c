import { join } from 'node:path';
import { ensureCodeServer } from './code-server.mjs';
import { chatTests, insideTests, usesDesktop, windowTests } from './editor-tests.mjs';
import { mocha } from './mocha.mjs';
import { packageExtension } from './package.mjs';
import { root, run } from './run.mjs';

const bin = (name) => join(root, 'node_modules', '.bin', name);

/** A step that is one test by itself: it works or it does not. */
const step = (work) => async () => {
  await work();
  return { passed: 1, failed: 0, skipped: 0 };
};

const atOnce = (files) => ['--parallel', '--jobs', String(files)];
/** They have suites of their own. */
const elsewhere = ['--ignore', 'test/editor/**', '--ignore', 'test/faults/**'];

/**
 * In the order they are shown. They run side by side, each as soon as those it comes `after` have ended: the editor's one
 * after the other, and beside them those that need none.
 * A suite answers with its figures, or throws: then it counts as one failure.
 */
export const suites = {
  types: { run: step(() => run(bin('tsc'), ['-b'], { cwd: root })) },
  lint: { run: step(() => run(bin('biome'), ['check', '--error-on-warnings', '.'], { cwd: root })) },
  package: { run: step(() => packageExtension({ quiet: true })) },
  install: { run: step(() => usesDesktop() || ensureCodeServer()) },
  // Most of a test's time is waiting, so two processors have room for three files at a time.
  unit: {
    after: ['types', 'lint', 'package', 'install'],
    run: () => mocha([...atOnce(3), ...elsewhere, 'test/**/*.test.ts']),
  },
  faults: { after: ['unit'], run: () => mocha([...atOnce(2), 'test/faults/**/*.test.ts']) },
  inside: { after: ['package', 'install'], run: insideTests },
  window: { after: ['inside'], run: windowTests },
  chat: { after: ['window'], run: chatTests },
};

/** Names for several suites at once. */
export const groups = { editor: ['install', 'inside', 'window', 'chat'] };
