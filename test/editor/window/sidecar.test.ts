import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { factsOf } from './facts';
import { connectAgent, leaveClean, sharedWindow } from './shared-window';
import { EditorWindow } from './window';

let window: EditorWindow;

async function closeWindow(this: Mocha.Context): Promise<void> {
  if (this.currentTest?.state === 'failed') await window.screenshot(`failed: ${this.currentTest.title}`);
  await window.close();
}

describe('a window that was just opened', () => {
  beforeEach(async () => {
    window = await EditorWindow.open('healthy');
  });

  afterEach(closeWindow);

  it('starts nothing before Limpet is used', async () => {
    await window.icon.waitFor();
    assert.equal(await window.statusBarItem.count(), 0);
  });
});

describe('the window', () => {
  beforeEach(async () => {
    window = await sharedWindow();
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await window.screenshot(`failed: ${this.currentTest.title}`);
    await window.closeNotifications();
    await window.runCommand('View: Close All Editors');
  });

  it('has a Limpet view that says what a session is, and the state of the sidecar in the status bar', async () => {
    await window.page.locator('.sidebar').getByText('A session is a shell that keeps its directory').waitFor();
    assert.ok((await window.sidecarPid()) > 0);
    await window.screenshot('sessions');
    assert.equal((await window.statusBarItem.textContent())?.trim(), 'Limpet');
  });

  it('shows that a killed sidecar is gone and has another one within two seconds', async () => {
    const killed = await window.sidecarPid();
    const shown = await window.recordStatusBar();
    const started = Date.now();
    process.kill(killed, 'SIGKILL');
    const successor = await window.sidecarPid(killed);
    const elapsed = Date.now() - started;
    assert.notEqual(successor, killed);
    assert.ok(elapsed < 2000, `it took ${elapsed} ms`);
    assert.deepEqual([...new Set(await shown())], ['Limpet: restarting', 'Limpet']);
    await window.notifications.getByText('The Limpet sidecar ended and was started again.').waitFor();
    await window.screenshot('sidecar replaced');
    await window.notifications.getByRole('button', { name: 'Show Log' }).click();
    await window.page.getByRole('tab', { name: 'sidecar.log' }).waitFor();
  });

  it('finds the same sidecar again after a reload', async () => {
    const before = await window.sidecarPid();
    await window.reload();
    await window.openLimpet();
    assert.equal(await window.sidecarPid(), before);
  });

  it('restarts the sidecar from the command palette, without a message', async () => {
    const before = await window.sidecarPid();
    await window.runCommand('Limpet: Restart Sidecar');
    assert.notEqual(await window.sidecarPid(before), before);
    assert.equal(await window.notifications.count(), 0);
  });

  it('keeps what runs when the sidecar is restarted', async () => {
    const before = await window.sidecarPid();
    const agent = await connectAgent();
    const { sessionId } = await agent.request('session.create', { name: 'busy', cwd: '/' });
    await agent.request('exec.start', { sessionId, command: 'sleep 600' });
    await window.commandRow('sleep 600').waitFor();
    await window.runCommand('Limpet: Restart Sidecar');
    assert.notEqual(await window.sidecarPid(before), before);
    agent.dispose();
    await window.showsTree('busy | bash · / · sleep 600 (T)\n  sleep 600 | T · agent');
    const later = await connectAgent();
    await leaveClean(window, later);
    later.dispose();
  });

  it('opens the log from the command palette', async () => {
    await window.runCommand('Limpet: Show Log');
    await window.page.getByRole('tab', { name: 'sidecar.log' }).waitFor();
    await window.page.locator('.view-lines').getByText('pid').first().waitFor();
    await window.screenshot('sidecar log');
  });
});

describe('a window whose sidecar cannot start', () => {
  beforeEach(async () => {
    window = await EditorWindow.open('broken');
  });

  afterEach(closeWindow);

  it('says so once, with a way to the log and one to try again', async () => {
    await window.openLimpet();
    await window.notifications.getByText('Limpet cannot run commands.').waitFor();
    await window.statusBarItem.getByText('Limpet: no sidecar').waitFor();
    await window.page.getByText('its sidecar, the process that runs the shells, does not start').waitFor();
    await window.screenshot('no sidecar');
    assert.equal(await window.notifications.count(), 1);
    await window.notifications.getByRole('button', { name: 'Try Again' }).waitFor();
    await window.notifications.getByRole('button', { name: 'Show Log' }).click();
    await window.page.locator('.panel').getByText('has written no log').first().waitFor();
    // What stood in the way is gone, and one click is enough.
    await rm(join(factsOf('broken').workspace, 'README.md'));
    await window.page.locator('.sidebar .welcome-view').getByRole('button', { name: 'Try Again' }).click();
    assert.ok((await window.sidecarPid()) > 0);
  });
});

describe('a window on a workspace that is not trusted', () => {
  beforeEach(async () => {
    window = await EditorWindow.open('untrusted');
  });

  afterEach(closeWindow);

  it('shows no Limpet and starts no sidecar', async () => {
    await window.page.getByText('Restricted Mode').first().waitFor();
    await window.screenshot('untrusted workspace');
    assert.equal(await window.statusBarItem.count(), 0);
    assert.equal(existsSync(factsOf('untrusted').runtimeDir), false);
  });
});
