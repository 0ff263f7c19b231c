import assert from 'node:assert/strict';
import { SidecarClient } from '../../../client/client';
import { agentFacts, Chat } from './chat';

describe('an agent in the chat', () => {
  let chat: Chat;
  before(async () => {
    chat = await Chat.open();
  });
  after(() => chat?.close());

  it('does a whole job with the tools, after the person has allowed it', async () => {
    const { workspace, runtimeDir } = agentFacts();
    const calls = await chat.send('job');
    const steady = (text: string) =>
      text
        .replaceAll(workspace, 'WORKSPACE')
        .replace(/\bs-[0-9a-f]{8}\b/g, 'S')
        .replace(/\bsample-[0-9a-f]{4}\b/g, 'SESSION')
        .replace(/\bafter [\d.]+ m?s\b/g, 'after TIME');
    const texts = calls.map(({ text }) => steady(text));
    const place = (number: number) => `Session SESSION, in WORKSPACE/job. Command S:${number}.`;
    const [created = '', installed = '', served = '', ...rest] = texts;
    assert.match(created, /^Exit code 0 after TIME\.\nSession SESSION, in WORKSPACE\/job\. Command S:1\.\n/);
    assert.match(installed, /^Exit code 0 after TIME\.\n.*\n\nstdout:\n\nadded 1 package /);
    assert.match(served, /^Still running in the background after TIME\. The port accepts connections\.\n/);
    const [fetched, failed, mended, passed, stopped, listed = ''] = rest;
    assert.equal(
      fetched,
      `Exit code 0 after TIME.\n${place(4)}\n\nstdout (no newline at the end):\nhello\n\nstderr: empty`,
    );
    assert.equal(failed, `Exit code 1 after TIME.\n${place(5)}\n\nstdout: empty\n\nstderr:\nadd(1, 2) is -1`);
    assert.equal(mended, `Exit code 0 after TIME.\n${place(6)}\n\nIt printed nothing on stdout and stderr.`);
    assert.equal(passed, `Exit code 0 after TIME.\n${place(7)}\n\nstdout:\nok\n\nstderr: empty`);
    assert.equal(
      stopped,
      `Stopped after TIME. The session lives on.\n${place(3)}\n\nstdout:\nlistening\n\nstderr: empty`,
    );
    assert.match(
      listed,
      /^1 session\.\n\nSession SESSION \(S\), the session of this workspace: idle, bash, in WORKSPACE\/job\n/,
    );
    await chat.page.getByText('The job is done.', { exact: true }).waitFor();

    // The editor remembers what was allowed for this chat, so each tool asks once.
    const [toRun = '', toStop = '', ...more] = chat.questions;
    assert.match(toRun, /^\W*Run this command\?.*mkdir -p job\/lib && cd job/);
    assert.match(toStop, /^\W*Stop this command\?.*node server\.js/);
    assert.deepEqual(more, []);

    const client = await SidecarClient.connect({ clientName: 'test', sidecarPath: '', runtimeDir, start: false });
    const { commands } = await client.request('exec.list', {});
    client.dispose();
    assert.deepEqual([...new Set(commands.map(({ origin }) => origin))], ['agent']);
  });

  it('shows the person what it ran, marked as the agent’s', async () => {
    await chat.page.getByRole('tab', { name: 'Limpet' }).click();
    const row = (text: string) => chat.page.locator('.sidebar .monaco-list-row').filter({ hasText: text });
    await row('node server.js').filter({ hasText: 'agent' }).first().waitFor();
    await row('node check.js').filter({ hasText: 'exit 1' }).filter({ hasText: 'agent' }).first().waitFor();
    await chat.screenshot('sessions afterwards');
  });
});
