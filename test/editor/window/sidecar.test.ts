import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { EditorWindow, factsOf } from './window';

let window: EditorWindow;

async function closeWindow(this: Mocha.Context): Promise<void> {
  if (this.currentTest?.state === 'failed') await window.screenshot(`failed: ${this.currentTest.title}`);
  await window.close();
}

describe('the window', () => {
  beforeEach(async () => {
    window = await EditorWindow.open('healthy');
  });

  afterEach(closeWindow);

  it('starts nothing before Limpet is used', async () => {
    await window.icon.waitFor();
    assert.equal(await window.statusBarItem.count(), 0);
  });

  it('has a Limpet view that says what a session is, and the state of the sidecar in the status bar', async () => {
    await window.openLimpet();
    await window.page.getByText('A session is a shell that keeps its directory').waitFor();
    assert.ok((await window.sidecarPid()) > 0);
    await window.screenshot('sessions');
    assert.equal((await window.statusBarItem.textContent())?.trim(), 'Limpet');
  });

  it('shows that a killed sidecar is gone and has another one within two seconds', async () => {
    await window.openLimpet();
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
    await window.openLimpet();
    const before = await window.sidecarPid();
    await window.reload();
    await window.openLimpet();
    assert.equal(await window.sidecarPid(), before);
  });

  it('restarts the sidecar from the command palette, without a message', async () => {
    await window.openLimpet();
    const before = await window.sidecarPid();
    await window.runCommand('Limpet: Restart Sidecar');
    assert.notEqual(await window.sidecarPid(before), before);
    assert.equal(await window.notifications.count(), 0);
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
