import type { SidecarClient } from '../../../client/client';
import { factsOf } from './facts';
import { useSharedWindow } from './shared-window';
import type { EditorWindow } from './window';

/** High contrast when asked for, because every theme takes its time; light last, because the theme stays. */
const themes = [
  ...(process.env.LIMPET_ALL_THEMES === undefined ? [] : ['Dark High Contrast', 'Light High Contrast']),
  'Dark Modern',
  'Light Modern',
];

/** Pictures of everything there is to see, to be looked at whenever it changes. */
describe('pictures', () => {
  let window: EditorWindow;
  let agent: SidecarClient;

  useSharedWindow((itsWindow, itsAgent) => {
    window = itsWindow;
    agent = itsAgent;
  });

  before(() => window.widenSidebar(440));

  it('are taken of a view without sessions, in every theme', async () => {
    for (const theme of themes) {
      await window.chooseTheme(theme);
      await window.screenshot(`${theme}: empty`);
      await window.pictureOf('.sidebar', `${theme}: no sessions`);
    }
  });

  it('are taken of sessions at work, in every theme', async () => {
    const cwd = factsOf('healthy').workspace;
    const { sessionId } = await agent.request('session.create', { name: 'app', cwd });
    await agent.request('exec.run', { sessionId, command: 'ls' });
    await agent.request('exec.run', { sessionId, command: 'sh count.sh 2' });
    await agent.request('exec.run', { sessionId, command: 'cat missing.txt' });
    await visitServer(sessionId);
    const other = await agent.request('session.create', { name: 'tests', cwd: '/usr/share' });
    await agent.request('exec.start', { sessionId: other.sessionId, command: 'sh -c "sleep 300; echo done"' });
    // Rows still move while commands start.
    await window.showsTree(
      [
        'app | bash · . · 1 in background',
        '  python3 -u -m http.serv… | T · background · agent',
        '  cat missing.txt | exit 1 · T · agent',
        '  sh count.sh 2 | exit 0 · T · agent',
        '  ls | exit 0 · T · agent',
        'tests | bash · /usr/share · sh -c "sleep 300; echo done" (T)',
        '  sh -c "sleep 300; echo … | T · agent',
      ].join('\n'),
    );
    await window.act('app', 'Attach Terminal');
    await window.terminalShows(/\. \$$/);
    await window.type('wc -l *.sh\n');
    await window.terminalShows(/ total\n\. \$$/);
    await window.commandRow('wc -l').waitFor();
    for (const theme of themes) {
      await window.chooseTheme(theme);
      await window.runCommand('Terminal: Focus on Terminal View');
      await window.terminalShows(/\. \$$/);
      await window.screenshot(`${theme}: terminal`);
      await window.pictureOf('.panel', `${theme}: terminal panel`);
      await window.commandRow('python3').click();
      await window.outputShows(/favicon\.ico.* 404/);
      await window.screenshot(`${theme}: output`);
      await window.pictureOf('.sidebar', `${theme}: sessions`);
      await window.pictureOf('.panel', `${theme}: output panel`);
      await window.row('app').click({ button: 'right' });
      await window.page.getByRole('menuitem', { name: 'Rename Session…' }).waitFor();
      await window.picture(`${theme}: menu`);
      await window.page.keyboard.press('Escape');
      await window.runCommand('Limpet: Show History…');
      await window.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
      await window.picture(`${theme}: history`);
      await window.page.keyboard.press('Escape');
    }
  });

  async function visitServer(sessionId: string): Promise<void> {
    const command = 'python3 -u -m http.server 0 --bind 127.0.0.1';
    const { commandId } = await agent.request('exec.start', { sessionId, command, background: true });
    await agent.request('exec.wait', { commandId, until: [{ output: 'port \\d+' }] });
    const { chunks } = await agent.request('exec.output', { commandId });
    const [, port] = /port (\d+)/.exec(chunks.map(({ data }) => data).join('')) ?? [];
    for (const path of ['', 'favicon.ico']) await fetch(`http://127.0.0.1:${port}/${path}`);
  }
});
