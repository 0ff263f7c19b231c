import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

interface Figures {
  passed: number;
  failed: number;
  skipped: number;
}

/** In code-server there is no test mode: the extension runs the suites as soon as the window is up. */
export async function activate(): Promise<void> {
  if (process.env.LIMPET_TEST_RUN_ON_ACTIVATION === '1') await run();
}

/** In a desktop VS Code, its test mode calls this. */
export async function run(): Promise<void> {
  const reportPath = process.env.LIMPET_TEST_REPORT;
  if (reportPath === undefined) throw new Error('LIMPET_TEST_REPORT must name the file for the report.');
  const report = await runSuites().catch((error: unknown) => ({
    figures: { passed: 0, failed: 1, skipped: 0 },
    output: `The suites could not be run: ${inspect(error)}`,
  }));
  // Whoever waits for the file must never see half of it.
  writeFileSync(`${reportPath}.part`, JSON.stringify(report));
  renameSync(`${reportPath}.part`, reportPath);
}

async function runSuites(): Promise<{ figures: Figures; output: string }> {
  const Mocha = await loadMocha();
  const mocha = new Mocha({ ui: 'bdd', timeout: 30_000, forbidOnly: true, reporter: 'min' });
  mocha.reporter(class {} as unknown as Mocha.ReporterConstructor);
  const folder = join(__dirname, '..', 'suite');
  for (const name of readdirSync(folder)) if (name.endsWith('.test.js')) mocha.addFile(join(folder, name));
  const figures: Figures = { passed: 0, failed: 0, skipped: 0 };
  const lines: string[] = [];
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('suite', (suite) => lines.push(`${indent(suite)}${suite.title}`));
    runner.on('pass', (test) => {
      figures.passed += 1;
      lines.push(`${indent(test)}✔ ${test.title} (${test.duration ?? 0}ms)`);
    });
    runner.on('fail', (test, error: unknown) => {
      figures.failed += 1;
      lines.push(`${indent(test)}✘ ${test.title}`, inspect(error));
    });
    runner.on('pending', (test) => {
      figures.skipped += 1;
      lines.push(`${indent(test)}- ${test.title}`);
    });
  });
  return { figures, output: lines.join('\n') };
}

async function loadMocha(): Promise<typeof Mocha> {
  const path = process.env.LIMPET_TEST_MOCHA;
  if (path === undefined) throw new Error('LIMPET_TEST_MOCHA must name the mocha to run the suites with.');
  const loaded = (await import(pathToFileURL(path).href)) as { default: typeof Mocha };
  return loaded.default;
}

const indent = (item: { titlePath(): string[] }) => '  '.repeat(item.titlePath().length);
