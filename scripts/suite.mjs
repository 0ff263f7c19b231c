import { suites } from './suites.mjs';

/** One suite in a process of its own, so that what it prints can be told from what others print meanwhile. */
const figures = await suites[process.argv[2]].run().catch((error) => {
  console.error(error.message);
  return { passed: 0, failed: 1, skipped: 0 };
});
process.send?.(figures, () => process.disconnect());
