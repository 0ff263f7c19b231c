import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/** The usual output, and the figures in a file for the summary over all suites. */
export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const figures = { passed: 0, failed: 0, skipped: 0 };
    runner.on('pass', () => {
      figures.passed += 1;
    });
    runner.on('fail', () => {
      figures.failed += 1;
    });
    runner.on('pending', () => {
      figures.skipped += 1;
    });
    runner.once('end', () => writeFileSync(process.env.LIMPET_TEST_REPORT, JSON.stringify(figures)));
  }
}
