import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { mocha } from './mocha.mjs';
import { vsce, vsixPath } from './package.mjs';
import { createPlayground } from './playground.mjs';
import { root } from './run.mjs';
import { onPath } from './system-packages.mjs';
import { startWorkbench } from './workbench.mjs';

/** A scripted agent works through the editor's chat, and its confirmations are clicked; answers with the figures. */
export async function agentTests(codeServer, results) {
  const test = (files) => (facts) =>
    mocha(['--no-config', '--timeout=120000', '--forbid-only', ...files], {
      LIMPET_TEST_RESULTS: results,
      LIMPET_TEST_AGENT: JSON.stringify(facts),
    });
  const trusted = await withAgent(codeServer, test(['test/editor/agent/*.test.ts']));
  const untrusted = await withAgent(codeServer, test(['test/editor/agent/untrusted/*.test.ts']), { trustAll: false });
  const figures = Object.keys(trusted).map((name) => [name, trusted[name] + untrusted[name]]);
  return Object.fromEntries(figures);
}

/** Starts an editor that has the product and an agent, and tells where to find them. */
export async function withAgent(codeServer, work, { trustAll = true } = {}) {
  const playground = await createPlayground();
  try {
    const settingsPath = join(playground.userData, 'User', 'settings.json');
    const settings = JSON.parse(await readFile(settingsPath, 'utf8'));
    await writeFile(settingsPath, JSON.stringify({ ...settings, 'chat.disableAIFeatures': false }));
    const report = join(playground.folder, 'agent.json');
    playground.env.LIMPET_AGENT_REPORT = report;
    const agent = await packageAgent(join(playground.folder, 'agent'));
    const workbench = await startWorkbench(codeServer, playground, { vsixs: [vsixPath, agent], trustAll });
    try {
      return await work({
        url: workbench.url,
        browser: onPath('chromium'),
        report,
        workspace: playground.workspace,
        runtimeDir: playground.runtimeDir,
        settingsPath,
      });
    } finally {
      await workbench.stop();
    }
  } finally {
    await playground.dispose();
  }
}

async function packageAgent(folder) {
  await mkdir(folder);
  await build({
    entryPoints: [join(root, 'test', 'editor', 'agent', 'host', 'main.ts')],
    outfile: join(folder, 'main.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
    logLevel: 'warning',
  });
  const manifest = {
    name: 'limpet-test-agent',
    displayName: 'Limpet test agent',
    publisher: 'limpet',
    version: '0.0.0',
    engines: { vscode: '^1.101.0' },
    main: './main.js',
    activationEvents: ['onStartupFinished'],
    capabilities: { untrustedWorkspaces: { supported: true } },
    contributes: {
      chatParticipants: [
        { id: 'limpet-test.agent', name: 'agent', fullName: 'Agent', description: 'Follows a script' },
      ],
      languageModelChatProviders: [{ vendor: 'limpet-scripted', displayName: 'Scripted' }],
    },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const vsix = join(folder, 'agent.vsix');
  await vsce(folder, vsix);
  return vsix;
}
