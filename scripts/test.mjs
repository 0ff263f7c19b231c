import { join } from 'node:path';
import { editorTests } from './editor-tests.mjs';
import { mocha } from './mocha.mjs';
import { packageExtension } from './package.mjs';
import { root, run } from './run.mjs';
import { ensureSystemPackages, packagesToTest } from './system-packages.mjs';

const bin = (name) => join(root, 'node_modules', '.bin', name);

/** A step that is one test by itself: it works or it does not. */
const step = (work) => async () => {
  await work();
  return { passed: 1, failed: 0, skipped: 0 };
};

/** In the order they run. A suite answers with its figures, or throws: then it counts as one failure. */
const suites = {
  types: step(() => run(bin('tsc'), ['-b'], { cwd: root })),
  lint: step(() => run(bin('biome'), ['check', '--error-on-warnings', '.'], { cwd: root })),
  package: step(() => packageExtension({ quiet: true })),
  // Most of a test's time is waiting, so two files at a time take little more than half as long.
  unit: () => mocha(['--parallel', '--jobs', '2']),
  editor: () => editorTests(),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in suites));
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(', ')}. There are: ${Object.keys(suites).join(', ')}.`);
  process.exit(2);
}

const total = { passed: 0, failed: 0, skipped: 0 };
const add = (figures) => {
  for (const name of Object.keys(total)) total[name] += figures[name];
};

try {
  await ensureSystemPackages(packagesToTest);
  for (const [name, suite] of Object.entries(suites)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.log(`\n── ${name}`);
    const started = Date.now();
    const figures = await suite().catch((error) => {
      console.error(error.message);
      return { passed: 0, failed: 1, skipped: 0 };
    });
    add(figures);
    if (figures.passed + figures.failed === 0) {
      console.error(`The suite ${name} ran no test at all, which is a failure.`);
      add({ passed: 0, failed: 1, skipped: 0 });
    }
    console.log(`── ${name}: ${summary(figures)} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  }
} catch (error) {
  console.error(error.message);
  total.failed += 1;
}

console.log(`\n${summary(total)}`);
// Not process.exit: what is written to a pipe must get there first.
process.exitCode = total.failed > 0 ? 1 : 0;

function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
