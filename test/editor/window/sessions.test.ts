import assert from 'node:assert/strict';
import type { SidecarClient } from '../../../client/client';
import { useSharedWindow } from './shared-window';
import type { EditorWindow } from './window';

describe('sessions in the window', () => {
  let window: EditorWindow;
  let agent: SidecarClient;

  useSharedWindow((itsWindow, itsAgent) => {
    window = itsWindow;
    agent = itsAgent;
  });

  it('begin with a click in the empty view, and run what is typed in the palette', async () => {
    await window.page.locator('.sidebar .welcome-view').getByRole('button', { name: 'New Session' }).click();
    await window.showsTree('session 1 | bash · .');
    await window.runCommand('Limpet: Run Command…');
    await window.answer('echo to stdout; echo to stderr >&2; cd /; false');
    await window.terminalShows(/to stdout\nto stderr\n✘ exit 1 · \d+ ms\n\/ \$$/);
    await window.commandRow('echo to stdout').click();
    await window.outputShows(/✘/);
    assert.match(
      await window.output(),
      /^\$ echo to stdout; echo to stderr >&2; cd \/; false {4}# you\nto stdout\n┃ to stderr\n✘ exit 1 · \d+ ms$/m,
    );
    await window.showsTree('session 1 | bash · /\n  echo to stdout; echo to… | exit 1 · T · you');
  });

  it('bring a server in the background and its output on the screen in the steps the README has', async () => {
    await window.runCommand('Limpet: Run Command in Background…');
    await window.answer('python3 -u -m http.server 0 --bind 127.0.0.1');
    await window.outputShows(/^\[1\] Serving HTTP on 127\.0\.0\.1 port \d+/m);
    await window.showsTree('session 1 | bash · . · 1 in background\n  python3 -u -m http.serv… | T · background · you');
    await window.commandRow('python3').click({ button: 'right' });
    await window.choose('Stop Command');
    await window.showsTree('session 1 | bash · .\n  python3 -u -m http.serv… | cancelled · T · background · you');
  });

  it('show a page of what ran, and more on a click', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'many', cwd: '/' });
    for (let number = 1; number <= 45; number++) await agent.request('exec.run', { sessionId, command: `: ${number}` });
    const rows = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, at) => `  : ${from - at} | exit 0 · T · agent`);
    await window.showsTree(['many | bash · /', ...rows(45, 26), '  Show More'].join('\n'));
    await window.commandRow('Show More').click();
    await window.commandRow(': 25').waitFor();
  });

  it('show what an agent runs, live, with the number of running commands on the icon', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'agent’s', cwd: '/' });
    await agent.request('exec.start', {
      sessionId,
      command: 'echo listening; echo careful >&2; sleep 600',
      background: true,
    });
    await agent.request('exec.run', { sessionId, command: 'x=1; true' });
    await agent.request('exec.start', { sessionId, command: 'while sleep 0.2; do :; done' });
    await window.showsTree(
      [
        'agent’s | bash · / · while sleep 0.2; do :; done (T) · 1 in background',
        '  while sleep 0.2; do :; … | T · agent',
        '  echo listening; echo ca… | T · background · agent',
        '  x=1; true | exit 0 · T · agent',
      ].join('\n'),
    );
    await window.icon.locator('.badge-content').getByText('2').waitFor();
    await window.commandRow('while sleep').hover();
    await window.commandRow('while sleep').getByRole('button', { name: 'Stop Command' }).click();
    await window.showsTree(
      [
        'agent’s | bash · / · 1 in background',
        '  echo listening; echo ca… | T · background · agent',
        '  while sleep 0.2; do :; … | cancelled · T · agent',
        '  x=1; true | exit 0 · T · agent',
      ].join('\n'),
    );
    await window.commandRow('echo listening').click();
    const output = await window.outputShows(/while sleep[\s\S]*✘ cancelled/);
    assert.match(output, /^\[1\] \$ echo listening; echo careful >&2; sleep 600 {4}# agent$/m);
    assert.match(output, /^\[1\] listening$/m);
    assert.match(output, /^\[1\] ┃ careful$/m);
  });

  it('have a terminal into the very same shell', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'shared' });
    await agent.request('exec.run', { sessionId, command: 'cd /usr; secret=42; echo from the agent' });
    await window.act('shared', 'Attach Terminal');
    await window.terminalShows(/\$ cd \/usr; secret=42; echo from the agent {4}# agent\nfrom the agent\n\/usr \$$/);
    await window.type('echo $secretX');
    await window.page.keyboard.press('Backspace');
    await window.page.keyboard.press('Enter');
    await window.terminalShows(/\/usr \$ echo \$secret\n42\n\/usr \$$/);
    // Until a command prints, keys are still for the prompt.
    await window.type('echo name?; read name; echo "hello $name"\n');
    await window.terminalShows(/\nname\?$/);
    await window.type('you there\n');
    await window.terminalShows(/hello you there\n\/usr \$$/);
    await window.type('echo tired; sleep 600\n');
    await window.terminalShows(/\ntired$/);
    await window.page.keyboard.press('Control+c');
    await window.terminalShows(/✘ cancelled · .*\n\/usr \$$/);
    await window.type('echo well?; cat\n');
    await window.terminalShows(/\nwell\?$/);
    await window.page.keyboard.press('Control+d');
    await window.terminalShows(/\$ echo well\?; cat\nwell\?\n\/usr \$$/);
    await window.page.keyboard.press('ArrowUp');
    await window.page.keyboard.press('ArrowUp');
    await window.terminalShows(/\/usr \$ echo tired; sleep 600$/);
    await agent.request('exec.run', { sessionId, command: 'echo in between' });
    await window.terminalShows(/\$ echo in between {4}# agent\nin between\n\/usr \$ echo tired; sleep 600$/);
    await window.page.keyboard.press('Control+c');
    await window.showsTree(
      [
        'shared | bash · /usr',
        '  echo in between | exit 0 · T · agent',
        '  echo well?; cat | exit 0 · T · you',
        '  echo tired; sleep 600 | cancelled · T · you',
        '  echo name?; read name; … | exit 0 · T · you',
        '  echo $secret | exit 0 · T · you',
        '  cd /usr; secret=42; ech… | exit 0 · T · agent',
      ].join('\n'),
    );
  });

  it('lose nothing when the window is reloaded while a command prints, and the history is kept', async () => {
    const gone = await agent.request('session.create', { name: 'gone' });
    await agent.request('exec.run', { sessionId: gone.sessionId, command: 'echo to be found' });
    await window.commandRow('echo to be found').waitFor();
    await agent.request('session.destroy', { sessionId: gone.sessionId });
    const { sessionId } = await agent.request('session.create', { name: 'counter', cwd: '/' });
    await agent.request('exec.run', { sessionId, command: 'echo before' });
    const { commandId } = await agent.request('exec.start', {
      sessionId,
      command: 'for i in $(seq 1 60); do echo "line $i"; sleep 0.1; done',
    });
    await window.commandRow('for i in').click();
    await window.outputShows(/line 3/);
    await window.reload();
    await window.openLimpet();
    await window.commandRow('for i in').click();
    await agent.request('exec.wait', { commandId });
    await window.outputShows(/✔ exit 0/);
    const copied = await window.wholeOutput();
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at + 1}`);
    assert.match(copied, /\$ echo before {4}# agent\nbefore\n✔ exit 0/);
    assert.deepEqual(
      copied.split('\n').filter((line) => line.startsWith('line')),
      lines,
    );
    await window.runCommand('Limpet: Show History…');
    await window.input.fill('be found');
    await window.page
      .getByRole('option', { name: /echo to be found.*exit 0/ })
      .first()
      .click();
    await window.showsTree(
      [
        'counter | bash · /',
        '  echo to be found | exit 0 · T · you',
        '  for i in $(seq 1 60); d… | exit 0 · T · agent',
        '  echo before | exit 0 · T · agent',
      ].join('\n'),
    );
  });
});
