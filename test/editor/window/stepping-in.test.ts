import assert from 'node:assert/strict';
import type { SidecarClient } from '../../../client/client';
import texts from '../../../package.nls.json';
import { useSharedWindow } from './shared-window';
import type { EditorWindow } from './window';

describe('a person who steps in', () => {
  let window: EditorWindow;
  let agent: SidecarClient;

  useSharedWindow((itsWindow, itsAgent) => {
    window = itsWindow;
    agent = itsAgent;
  });

  it('is told when a command waits silently for input, and ends it with Ctrl-D', async () => {
    await agent.request('session.create', { name: 'asking', cwd: '/' });
    await window.act('asking', 'Attach Terminal');
    await window.terminalShows(/\/ \$$/);
    await window.type('cat\n');
    await window.terminalShows(/\$ cat\nIt waits for input: type it, or press Ctrl-D to end it\.$/);
    await window.type('hello\n');
    await window.terminalShows(/hello\nhello$/);
    await window.page.keyboard.press('Control+d');
    await window.terminalShows(/hello\nhello\n\/ \$$/);
  });

  it('sends a line to a command that waits for one, and is told when a command takes none', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'asking', cwd: '/' });
    await agent.request('exec.start', { sessionId, command: 'read x; echo "got $x"', keepStdinOpen: true });
    await window.commandRow('read x').click({ button: 'right' });
    await window.choose('Send Input…');
    await window.answer('the answer');
    await window.commandRow('exit 0').click();
    await window.outputShows(/^got the answer$/m);
    await agent.request('exec.start', { sessionId, command: 'sleep 600' });
    // The palette has it once the window knows that something runs.
    await window.commandRow('sleep 600').waitFor();
    await window.runCommand('Limpet: Send Input…');
    await window.answer('anyone?');
    await window.notifications.getByText('This command takes no input.').waitFor();
    await window.closeNotifications();
  });

  it('kills what does not stop, a moment after asking it to', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'stubborn', cwd: '/' });
    const command = 'sh -c \'trap "" INT TERM; while :; do sleep 1; done\'';
    const { commandId } = await agent.request('exec.start', { sessionId, command, background: true });
    await window.showsTree(
      ['stubborn | bash · / · 1 in background', `  sh -c 'trap "" INT TERM… | T · background · agent`].join('\n'),
    );
    const killed = await window.clickOnceThere('Kill Command Now');
    await window.act('sh -c', 'Stop Command');
    await agent.request('exec.wait', { commandId });
    assert.ok(await killed(), 'the line offered to kill it');
    await window.showsTree(
      ['stubborn | bash · /', `  sh -c 'trap "" INT TERM… | cancelled · T · background · agent`].join('\n'),
    );
  });

  it('renames a session, and its output goes by the new name', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'before', cwd: '/' });
    await agent.request('exec.run', { sessionId, command: 'echo kept' });
    await window.row('before').click({ button: 'right' });
    await window.choose('Rename Session…');
    await window.answer('after');
    await window.showsTree('after | bash · /\n  echo kept | exit 0 · T · agent');
    await window.commandRow('echo kept').click();
    await window.outputShows(/^kept$/m);
    await window.page.locator('.panel').getByRole('combobox').filter({ hasText: 'Limpet: after' }).waitFor();
  });

  it('is asked before a session with something running is destroyed', async () => {
    const { sessionId } = await agent.request('session.create', { name: 'busy', cwd: '/' });
    await agent.request('exec.start', { sessionId, command: 'sleep 600', background: true });
    const tree = 'busy | bash · / · 1 in background\n  sleep 600 | T · background · agent';
    await window.showsTree(tree);
    await window.act('busy', 'Destroy Session');
    const dialog = window.page.getByRole('dialog').filter({ hasText: 'Destroy "busy" and end what runs in it (1)?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await window.showsTree(tree);
    await window.act('busy', 'Destroy Session');
    await dialog.getByRole('button', { name: 'Destroy' }).click();
    await window.showsTree('');
  });

  it('opens a session as a terminal from the list of profiles, and it is the session’s terminal', async () => {
    await window.runCommand('Create New Terminal (With Profile)');
    await window.pick('Limpet Session');
    await window.showsTree('session 1 | bash · .');
    await window.terminalShows(/^\. \$$/);
    await window.type('echo hello\n');
    await window.showsTree('session 1 | bash · .\n  echo hello | exit 0 · T · you');
    const terminals = window.page.locator('.terminal-wrapper');
    const before = await terminals.count();
    await window.act('session 1', 'Attach Terminal');
    await window.type('echo again\n');
    await window.terminalShows(/^\. \$ echo hello\nhello\n\. \$ echo again\nagain\n\. \$$/);
    assert.equal(await terminals.count(), before);
  });

  it('finds the first steps in the walkthrough', async () => {
    await window.resize(1600, 1100);
    await window.runCommand('Limpet: Open Walkthrough');
    const page = window.page.locator('.gettingStartedContainer');
    for (const step of ['session', 'run', 'background', 'terminal'] as const) {
      const title = texts[`walkthrough.${step}.title`];
      await page.locator('.getting-started-step').filter({ hasText: title }).first().click();
      await page.locator('.getting-started-step.expanded').filter({ hasText: title }).waitFor();
      const picture = page.getByAltText(texts[`walkthrough.${step}.picture`]);
      const width = await window.waitFor(
        () => picture.evaluate(({ naturalWidth }: { naturalWidth: number }) => naturalWidth),
        (pixels) => pixels > 0,
      );
      assert.ok(width > 0, `the picture of "${title}" is shown`);
    }
    await window.screenshot('walkthrough');
    await window.resize();
  });
});
