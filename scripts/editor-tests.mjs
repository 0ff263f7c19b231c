import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { agentTests } from './agent-tests.mjs';
import { openBrowser } from './browser.mjs';
import { ensureCodeServer } from './code-server.mjs';
import { findDesktop, runInDesktop } from './desktop.mjs';
import { mocha } from './mocha.mjs';
import { vsixPath } from './package.mjs';
import { createPlayground } from './playground.mjs';
import { root, until } from './run.mjs';
import { onPath } from './system-packages.mjs';
import { buildTestHost, packageTestHost } from './test-host.mjs';
import { startWorkbench } from './workbench.mjs';

export const results = join(root, 'test-results');

/** The suites inside the editor, then the tests that use its window as a person would. */
export async function editorTests() {
  if (!existsSync(vsixPath)) throw new Error('There is no dist/limpet.vsix to test. Run: npm run package');
  await rm(results, { recursive: true, force: true });
  await mkdir(results, { recursive: true });
  const desktop =
    process.env.LIMPET_EDITOR === 'desktop' || (process.env.LIMPET_EDITOR === undefined && onPath('code'));
  return sum(desktop ? await inDesktop() : await inCodeServer());
}

async function inDesktop() {
  console.log('in a desktop VS Code; the window tests need code-server (LIMPET_EDITOR=code-server) and are skipped');
  const inside = await withPlayground(async (playground) => {
    const host = await buildTestHost(await folderIn(playground, 'test-host'));
    const report = join(playground.folder, 'report.json');
    await runInDesktop(await findDesktop(), playground, { vsix: vsixPath, host, env: hostEnvironment(report) });
    return readReport(report);
  });
  return [...inside, { passed: 0, failed: 0, skipped: 1 }];
}

async function inCodeServer() {
  const codeServer = await ensureCodeServer();
  return [
    ...(await insideTheEditor(codeServer)),
    ...(await throughTheWindow(codeServer)),
    await agentTests(codeServer, results),
  ];
}

function insideTheEditor(codeServer) {
  return withPlayground(async (playground) => {
    const report = join(playground.folder, 'report.json');
    Object.assign(playground.env, hostEnvironment(report), { LIMPET_TEST_RUN_ON_ACTIVATION: '1' });
    const host = await packageTestHost(await buildTestHost(await folderIn(playground, 'test-host')));
    const workbench = await startWorkbench(codeServer, playground, { vsixs: [vsixPath, host] });
    // The extension host starts with the first window.
    const browser = await openBrowser(playground);
    const page = await browser.newPage();
    try {
      await page.goto(workbench.url);
      await until('the report of the suites inside the editor', () => existsSync(report), { timeoutMs: 180_000 });
    } catch (error) {
      await page.screenshot({ path: join(results, 'suites-without-report.png') });
      throw error;
    } finally {
      await browser.close();
      await workbench.stop();
    }
    return readReport(report);
  });
}

/** Several windows, each with a sidecar and a profile of its own, because what is done to one must not show in another. */
export function throughTheWindow(codeServer, files = 'test/editor/window/*.test.ts') {
  const windows = {};
  const open = (names) =>
    withPlayground(async (playground) => {
      const [name, ...others] = names;
      if (name === undefined) {
        return [
          await mocha([...windowTestArguments, files], {
            LIMPET_TEST_WINDOWS: JSON.stringify(windows),
            LIMPET_TEST_RESULTS: results,
          }),
        ];
      }
      // A sidecar that cannot start: its runtime directory would have to be made inside a file.
      if (name === 'broken') playground.env.LIMPET_RUNTIME_DIR = join(playground.workspace, 'README.md', 'run');
      const workbench = await startWorkbench(codeServer, playground, {
        vsixs: [vsixPath],
        trustAll: name !== 'untrusted',
      });
      const { runtimeDir, stateDir, workspace } = playground;
      windows[name] = { url: workbench.url, runtimeDir, stateDir, workspace };
      try {
        return await open(others);
      } finally {
        await workbench.stop();
      }
    });
  return open(['healthy', 'broken', 'untrusted']);
}

const windowTestArguments = ['--no-config', '--node-option=import=tsx', '--timeout=60000', '--forbid-only'];

async function withPlayground(work) {
  // Drawn with elements, a terminal's text can be read from the page.
  const playground = await createPlayground({ 'terminal.integrated.gpuAcceleration': 'off' });
  try {
    return await work(playground);
  } finally {
    await playground.dispose();
  }
}

async function folderIn(playground, name) {
  const folder = join(playground.folder, name);
  await mkdir(folder);
  return folder;
}

const hostEnvironment = (report) => ({
  LIMPET_TEST_REPORT: report,
  LIMPET_TEST_MOCHA: join(root, 'node_modules', 'mocha', 'index.js'),
});

async function readReport(path) {
  const report = JSON.parse(await readFile(path, 'utf8'));
  console.log(report.output);
  return [report.figures];
}

function sum(all) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const figures of all) {
    if (figures.passed + figures.failed + figures.skipped === 0)
      throw new Error('A part of the editor tests ran no test.');
    for (const name of Object.keys(total)) total[name] += figures[name];
  }
  return total;
}
