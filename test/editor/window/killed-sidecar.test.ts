import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SidecarClient } from '../../../client/client';
import { factsOf } from './facts';
import { connectAgent, leaveClean, sharedWindow } from './shared-window';
import { type EditorWindow, withoutTimes } from './window';

/** Prints twice, and the rest from the moment the sidecar is killed: while none is there and after. */
const count = [
  'until_killed() { until [ -e killed ]; do sleep 0.02; done; }',
  'count() { echo "$1 1"; echo "$1 2"; until_killed; for i in {3..12}; do echo "$1 $i"; sleep 0.1; done; }',
].join('; ');
const counted = (name: string) => Array.from({ length: 12 }, (_, at) => `${name} ${at + 1}`);

const loss = 'The sidecar was killed while this ran: up to 64 KiB of each stream may be missing.';

describe('a window whose sidecar is killed', () => {
  let window: EditorWindow;
  let agent: SidecarClient;
  let sessionId: string;
  const { workspace } = factsOf('healthy');
  const killed = join(workspace, 'killed');

  beforeEach(async () => {
    window = await sharedWindow();
    agent = await connectAgent();
    ({ sessionId } = await agent.request('session.create', { name: 'work', cwd: workspace }));
    await agent.request('exec.run', { sessionId, command: count });
    await window.act('work', 'Attach Terminal');
    await window.terminalShows(/\. \$$/);
  });

  afterEach(async function () {
    // A test that failed may have left it with the sidecar that was killed.
    await connectAnew();
    await leaveClean(window, agent, this.currentTest);
    agent.dispose();
    await window.closeNotifications();
    await rm(killed, { force: true });
  });

  it('goes on with its sessions, their terminals and their output', async () => {
    await agent.request('exec.run', { sessionId, command: 'answer=42' });
    const back = { sessionId, command: 'count back; sleep 600', background: true };
    const { commandId } = await agent.request('exec.start', back);
    // What is seen is noted; what was read and not noted yet would go with the sidecar.
    await agent.request('exec.wait', { commandId, until: [{ output: 'back 2' }] });
    await window.terminalShows(/\[3\] in background: count back; sleep 600\n\. \$$/);
    await window.type('count front; read line; echo "got $line"; (exit 7)\n');
    await window.terminalShows(/\nfront 1\nfront 2$/);
    const before = await whatRuns();

    await killSidecar();
    await window.terminalShows(/\nfront 12$/);
    const earlier = ['  answer=42 | exit 0 · T · agent', '  until_killed() { until … | exit 0 · T · agent'];
    await window.showsTree(
      [
        'work | bash · . · count front; read line; echo … (T) · 1 in background',
        '  count front; read line;… | T · you',
        '  count back; sleep 600 | T · background · agent',
        ...earlier,
      ].join('\n'),
    );
    assert.deepEqual(await whatRuns(), before);

    await window.type('hello\n');
    await window.terminalShows(/got hello\n✘ exit 7 · .*\n.*may be missing\.\n\. \$$/);
    await window.type('echo $answer\n');
    await window.terminalShows(/\. \$ echo \$answer\n42\n\. \$$/);
    const ended = ['  echo $answer | exit 0 · T · you', '  count front; read line;… | exit 7 · T · you'];
    await window.showsTree(
      [
        'work | bash · . · 1 in background',
        '  count back; sleep 600 | T · background · agent',
        ...ended,
        ...earlier,
      ].join('\n'),
    );

    await window.act('count back', 'Stop Command');
    await window.terminalShows(/\[3\] cancelled · .*: count back; sleep 600\n\. \$$/);
    await window.showsTree(
      ['work | bash · .', ...ended, '  count back; sleep 600 | cancelled · T · background · agent', ...earlier].join(
        '\n',
      ),
    );
    await window.screenshot('sessions after the sidecar was killed');
    const terminal = withoutTimes(await window.wholeTerminal());
    assert.deepEqual(terminal.slice(terminal.indexOf('. $ count')).split('\n'), [
      '. $ count front; read line; echo "got $line"; (exit 7)',
      ...counted('front'),
      'hello',
      'got hello',
      '✘ exit 7 · T',
      loss,
      '. $ echo $answer',
      '42',
      '[3] cancelled · T: count back; sleep 600',
      '. $',
    ]);

    await window.commandRow('count back').click();
    await window.outputShows(/^\[3\] ✘ cancelled/m);
    await window.screenshot('output after the sidecar was killed');
    const output = withoutTimes(await window.wholeOutput());
    const lines = output.slice(output.indexOf('$ answer=42')).split('\n');
    const isOfBackground = (line: string) => line.startsWith('[3] ');
    // Of both, in whatever order they ended.
    const ofLoss = lines.filter((line) => line.endsWith(loss));
    assert.equal(ofLoss.length, 2);
    assert.deepEqual(
      lines.filter((line) => !isOfBackground(line) && !ofLoss.includes(line) && line !== ''),
      [
        '$ answer=42    # agent',
        '✔ exit 0 · T',
        '$ count front; read line; echo "got $line"; (exit 7)    # you',
        ...counted('front'),
        'got hello',
        '✘ exit 7 · T',
        '$ echo $answer    # you',
        '42',
        '✔ exit 0 · T',
      ],
    );
    assert.deepEqual(
      lines.filter(isOfBackground),
      ['$ count back; sleep 600    # agent', ...counted('back'), '✘ cancelled · T'].map((line) => `[3] ${line}`),
    );
  });

  it('shows in the terminal what began or ended while there was none', async () => {
    await agent.request('exec.start', { sessionId, command: 'until_killed; exit 3', background: true });
    await agent.request('exec.start', { sessionId, command: 'until_killed; echo first' });
    await agent.request('exec.start', { sessionId, command: 'echo second' });
    await window.terminalShows(/\n\$ until_killed; echo first {4}# agent$/);

    await killSidecar();
    await window.showsTree(
      [
        'work | bash · .',
        '  echo second | exit 0 · T · agent',
        '  until_killed; echo first | exit 0 · T · agent',
        '  until_killed; exit 3 | exit 3 · T · background · agent',
        '  until_killed() { until … | exit 0 · T · agent',
      ].join('\n'),
    );
    await window.terminalShows(/\n\[2\] exit 3/);
    await window.terminalShows(/\nsecond\n(\[2\].*\n)?\. \$$/);
    const terminal = withoutTimes(await window.wholeTerminal());
    const lines = terminal.slice(terminal.indexOf('$ until_killed; echo')).split('\n');
    const ofBackground = '[2] exit 3 · T: until_killed; exit 3';
    assert.deepEqual(
      lines.filter((line) => line !== ofBackground),
      ['$ until_killed; echo first    # agent', 'first', loss, '$ echo second    # agent', 'second', '. $'],
    );
    assert.equal(lines.filter((line) => line === ofBackground).length, 1);
  });

  /** What waits for it goes on at once, long before there is another sidecar. */
  async function killSidecar(): Promise<void> {
    const pid = await window.sidecarPid();
    process.kill(pid, 'SIGKILL');
    writeFileSync(killed, '');
    assert.notEqual(await window.sidecarPid(pid), pid);
    await connectAnew();
  }

  async function connectAnew(): Promise<void> {
    agent.dispose();
    agent = await connectAgent();
  }

  async function whatRuns() {
    const { sessions } = await agent.request('session.list', {});
    const { commands } = await agent.request('exec.list', { runningOnly: true });
    return {
      sessions: sessions.map(({ sessionId: id, name, pid, createdAt }) => ({ id, name, pid, createdAt })),
      commands: commands.map(({ commandId, command, pid, startedAt }) => ({ commandId, command, pid, startedAt })),
    };
  }
});
