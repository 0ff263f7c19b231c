import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { toolNames } from '../../../../protocol/tools/definitions';
import { EditorWindow } from '../../window/window';
import { agentFacts } from '../chat';
import type { Tried } from '../host/untrusted';

const refusal = 'This workspace is not trusted, so no commands are run in it. Ask the user to trust it first.';

describe('an agent in a workspace that is not trusted', () => {
  const { url, browser: executablePath, report, runtimeDir, settingsPath, workspace } = agentFacts();
  let browser: Browser;
  let window: EditorWindow;

  beforeEach(async () => {
    browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
    window = new EditorWindow(await browser.newPage({ viewport: { width: 1200, height: 720 } }), browser);
    rmSync(report, { force: true });
  });
  afterEach(() => window.close());

  /** What an extension that works in such workspaces was told when it called the tools. */
  async function tried(): Promise<Tried> {
    await window.page.goto(url);
    await window.page.getByText('Restricted Mode').first().waitFor({ timeout: 60_000 });
    await window.waitFor(
      async () => existsSync(report),
      (isThere) => isThere,
      60_000,
    );
    return JSON.parse(readFileSync(report, 'utf8'));
  }

  it('has no tools, and calling them by name starts nothing', async () => {
    const { known, answers, pastTheEditor, connections } = await tried();
    await window.picture('agent, untrusted workspace');
    assert.deepEqual(known, []);
    for (const name of toolNames) assert.match(answers[name] ?? '', /^FAILED /);
    assert.deepEqual([pastTheEditor, connections], [`FAILED ${refusal}`, 0]);
    assert.equal(existsSync(runtimeDir), false);
    assert.equal(existsSync(join(workspace, 'ran')), false);
  });

  it('is refused by every tool even where the user lets the extension run', async () => {
    const before = readFileSync(settingsPath, 'utf8');
    const override = { 'extensions.supportUntrustedWorkspaces': { 'limpet.limpet': { supported: true } } };
    writeFileSync(settingsPath, JSON.stringify({ ...JSON.parse(before), ...override }));
    try {
      const { known, answers, pastTheEditor, connections } = await tried();
      assert.deepEqual(known.sort(), [...toolNames].sort());
      for (const name of toolNames) assert.match(answers[name] ?? '', new RegExp(`^FAILED .*${refusal}`));
      assert.deepEqual([pastTheEditor, connections], [`FAILED ${refusal}`, 0]);
      assert.equal(existsSync(join(workspace, 'ran')), false);
    } finally {
      writeFileSync(settingsPath, before);
    }
  });
});
