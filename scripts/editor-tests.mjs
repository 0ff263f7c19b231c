import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agentTests } from './agent-tests.mjs';
import { openBrowser } from './browser.mjs';
import { installedCodeServer } from './code-server.mjs';
import { findDesktop, runInDesktop } from './desktop.mjs';
import { mocha } from './mocha.mjs';
import { vsixPath } from './package.mjs';
import { createPlayground } from './playground.mjs';
import { root, until } from './run.mjs';
import { onPath } from './system-packages.mjs';
import { buildTestHost, packageTestHost } from './test-host.mjs';
import { installExtensions, startWorkbench } from './workbench.mjs';

export const results = join(root, 'test-results');

/** The editor on PATH is the one its user works with; where there is none, or on request, the tests bring code-server. */
export function usesDesktop() {
  return (
    process.env.LIMPET_EDITOR === 'desktop' || (process.env.LIMPET_EDITOR === undefined && Boolean(onPath('code')))
  );
}

/** The suites that run inside the editor. */
export async function insideTests() {
  needsPackage();
  return usesDesktop() ? insideTheDesktop() : insideTheEditor(installedCodeServer());
}

/** The tests that use the editor's window as a person would. */
export async function windowTests() {
  needsPackage();
  return usesDesktop() ? skipped() : throughTheWindow(installedCodeServer());
}

/** An agent in the editor's chat, and the person who allows what it asks for. */
export async function chatTests() {
  needsPackage();
  return usesDesktop() ? skipped() : agentTests(installedCodeServer(), results);
}

function needsPackage() {
  if (!existsSync(vsixPath)) throw new Error('There is no dist/limpet.vsix to test. Run: npm run package');
}

function skipped() {
  console.log('needs code-server (LIMPET_EDITOR=code-server) and is skipped in a desktop VS Code');
  return { passed: 0, failed: 0, skipped: 1 };
}

function insideTheDesktop() {
  return withPlayground(async (playground) => {
    const host = await buildTestHost(await folderIn(playground, 'test-host'));
    const report = join(playground.folder, 'report.json');
    await runInDesktop(await findDesktop(), playground, { vsix: vsixPath, host, env: hostEnvironment(report) });
    return readReport(report);
  });
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
  return withPlayground((healthy) =>
    withPlayground((broken) =>
      withPlayground(async (untrusted) => {
        // A sidecar that cannot start: its runtime directory would have to be made inside a file.
        broken.env.LIMPET_RUNTIME_DIR = join(broken.workspace, 'README.md', 'run');
        await installExtensions(codeServer, healthy, [vsixPath]);
        for (const other of [broken, untrusted]) other.extensions = healthy.extensions;
        const playgrounds = { healthy, broken, untrusted };
        const windows = {};
        const open = async ([name, playground]) => {
          const workbench = await startWorkbench(codeServer, playground, { trustAll: playground !== untrusted });
          const { runtimeDir, stateDir, workspace } = playground;
          windows[name] = { url: workbench.url, runtimeDir, stateDir, workspace };
          return workbench;
        };
        const opened = await Promise.allSettled(Object.entries(playgrounds).map(open));
        try {
          for (const { reason } of opened) if (reason !== undefined) throw reason;
          return await mocha([...windowTestArguments, files], {
            LIMPET_TEST_WINDOWS: JSON.stringify(windows),
            LIMPET_TEST_RESULTS: results,
          });
        } finally {
          await Promise.all(opened.map(({ value }) => value?.stop()));
        }
      }),
    ),
  );
}

const windowTestArguments = ['--no-config', '--timeout=60000', '--forbid-only'];

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
  return report.figures;
}
