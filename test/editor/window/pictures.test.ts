import { SidecarClient } from '../../../client/client';
import { EditorWindow, factsOf } from './window';

/** Pictures of everything there is to see, to be looked at whenever it changes. */
describe('pictures', () => {
  let window: EditorWindow;
  let agent: SidecarClient;

  before(async () => {
    window = await EditorWindow.open('healthy');
    await window.openLimpet();
    await window.sidecarPid();
    const { runtimeDir } = factsOf('healthy');
    agent = await SidecarClient.connect({ clientName: 'agent', sidecarPath: '', runtimeDir, start: false });
    await window.widenSidebar(440);
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await window.screenshot(`failed: ${this.currentTest.title}`);
    for (const { sessionId } of (await agent.request('session.list', {})).sessions) {
      await agent.request('session.destroy', { sessionId });
    }
    await window.showsTree('');
  });

  after(async () => {
    agent.dispose();
    await window.close();
  });

  // Light at the end, because the theme stays for whoever opens this window next.
  for (const theme of ['Dark', 'Light']) {
    it(`are taken in the theme ${theme}`, async () => {
      await window.chooseTheme(`${theme} Modern`);
      await window.screenshot(`${theme}: empty`);
      await window.pictureOf('.sidebar', `${theme}: no sessions`);
      const cwd = factsOf('healthy').workspace;
      const { sessionId } = await agent.request('session.create', { name: 'app', cwd });
      const server = `echo "Listening on http://127.0.0.1:8080"; echo "no favicon" >&2; sleep 600`;
      await agent.request('exec.run', { sessionId, command: 'ls' });
      await agent.request('exec.run', { sessionId, command: 'sh count.sh 2' });
      await agent.request('exec.run', { sessionId, command: 'cat missing.txt' });
      await agent.request('exec.start', { sessionId, command: server, background: true });
      const other = await agent.request('session.create', { name: 'tests', cwd: '/usr/share' });
      await agent.request('exec.start', { sessionId: other.sessionId, command: 'sh -c "sleep 300; echo done"' });
      // Rows still move while commands start.
      await window.showsTree(
        [
          'app | bash · . · 1 in background',
          '  echo "Listening on http://127.0.0.1… | T · background · agent',
          '  cat missing.txt | exit 1 · T · agent',
          '  sh count.sh 2 | exit 0 · T · agent',
          '  ls | exit 0 · T · agent',
          'tests | bash · /usr/share · sh -c "sleep 300; echo done" (T)',
          '  sh -c "sleep 300; echo done" | T · agent',
        ].join('\n'),
      );
      await window.commandRow('echo "Listening').click();
      await window.outputShows(/no favicon/);
      await window.screenshot(`${theme}: output`);
      await window.pictureOf('.sidebar', `${theme}: sessions`);
      await window.pictureOf('.panel', `${theme}: output panel`);
      await window.row('app').hover();
      await window.row('app').getByRole('button', { name: 'Attach Terminal' }).click();
      await window.terminalShows(/\. \$$/);
      await window.type('cd /usr && pwd\n');
      await window.terminalShows(/\/usr \$$/);
      await window.screenshot(`${theme}: terminal`);
      await window.pictureOf('.panel', `${theme}: terminal panel`);
      await window.row('app').click({ button: 'right' });
      await window.page.getByRole('menuitem', { name: 'Rename Session…' }).waitFor();
      await window.picture(`${theme}: menu`);
      await window.page.keyboard.press('Escape');
      await window.runCommand('Limpet: Show History…');
      await window.page.getByRole('option').first().waitFor();
      await window.picture(`${theme}: history`);
      await window.page.keyboard.press('Escape');
    });
  }
});
