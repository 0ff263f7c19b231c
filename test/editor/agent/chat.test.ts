import assert from 'node:assert/strict';
import { SidecarClient } from '../../../client/client';
import type { CommandSnapshot } from '../../../protocol/values';
import { agentFacts, Chat } from './chat';

/** Without what differs from run to run. */
const steady = (text: string) =>
  text
    .replaceAll(agentFacts().workspace, 'WORKSPACE')
    .replace(/\bs-[0-9a-f]{8}\b/g, 'S')
    .replace(/\bsample-[0-9a-f]{4}\b/g, 'SESSION')
    .replace(/(?<!\d)2\d{4}(?!\d)/g, 'PORT')
    .replace(/\b\d+(\.\d+)? m?s\b/g, 'TIME');

async function commandsRun(): Promise<CommandSnapshot[]> {
  const { runtimeDir } = agentFacts();
  const client = await SidecarClient.connect({ clientName: 'test', sidecarPath: '', runtimeDir, start: false });
  try {
    return (await client.request('exec.list', {})).commands;
  } finally {
    client.dispose();
  }
}

describe('an agent in the chat', () => {
  let chat: Chat;
  before(async () => {
    chat = await Chat.open();
  });
  beforeEach(() => chat.startAnew());
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await chat.window.picture(`failed: ${this.currentTest.title}`);
  });
  after(() => chat?.close());

  it('does a whole job with the tools, each step allowed by the person, who then sees all of it', async () => {
    const calls = await chat.send('job', 'Allow Once');
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

    const asked = chat.questions.map((question) => steady(question).replace(/^\W*/, ''));
    const [first = '', ...further] = asked;
    assert.match(first, /^Run this command\?Session SESSION, in WORKSPACEmkdir -p job\/lib && cd job/);
    const inJob = 'Session SESSION, in WORKSPACE/job';
    const expected = [
      `Run this command?${inJob}npm install ./lib --no-audit --no-fund --offline`,
      `Run this command in the background?${inJob}node server.jsPORT=PORT`,
      `Run this command?${inJob}curl -s http://127.0.0.1:PORT/`,
      `Run this command?${inJob}node check.js`,
      `Run this command?${inJob}sed -i 's/a - b/a + b/' lib/index.js`,
      `Run this command?${inJob}node check.js`,
      'Stop this command?node server.js',
    ];
    assert.deepEqual(
      further.map((question, at) => question.slice(0, expected[at]?.length)),
      expected,
    );

    assert.deepEqual([...new Set((await commandsRun()).map(({ origin }) => origin))], ['agent']);
    await chat.window.openLimpet();
    await chat.window.row('sed -i').waitFor();
    assert.equal(
      steady(await chat.window.tree()),
      `SESSION | bash · ./job
  node check.js | exit 0 · TIME · agent
  sed -i 's/a - b/a + b/'… | exit 0 · TIME · agent
  node check.js | exit 1 · TIME · agent
  curl -s http://127.0.0.… | exit 0 · TIME · agent
  node server.js | cancelled · TIME · background · agent
  npm install ./lib --no-… | exit 0 · TIME · agent
  mkdir -p job/lib && cd … | exit 0 · TIME · agent`,
    );
    await chat.window.commandRow('node server.js').click();
    await chat.window.outputShows(/\[3\] ✘ cancelled/);
    await chat.window.screenshot('agent, what the person sees of the job');
    const output = steady(await chat.window.wholeOutput());
    assert.match(output, /^\$ mkdir -p job\/lib && cd job && npm init -y >\/dev\/null {4}# agent\n\$ cat > lib/);
    assert.equal(
      output.slice(output.indexOf('[3]')),
      `[3] $ node server.js    # agent
[3] listening
$ curl -s http://127.0.0.1:PORT/    # agent
hello
✔ exit 0 · TIME

$ node check.js    # agent
┃ add(1, 2) is -1
✘ exit 1 · TIME

$ sed -i 's/a - b/a + b/' lib/index.js    # agent
✔ exit 0 · TIME

$ node check.js    # agent
ok
✔ exit 0 · TIME

[3] ✘ cancelled · TIME

`,
    );
  });

  it('asks once when the person allows the tool for as long as the window is open', async () => {
    const calls = await chat.send('twice', 'Allow');
    assert.deepEqual(
      calls.map(({ text }) => /stdout:\n(.*)\n/.exec(text)?.[1]),
      ['once', 'twice'],
    );
    assert.equal(chat.questions.length, 1);
    assert.match(chat.questions[0] ?? '', /echo once.*Allow in this Session.*Skip/);
  });

  it('can be allowed a command once, for the chat, for the workspace or always', async () => {
    await chat.submit('allowed');
    await chat.question.locator('.view-line').first().waitFor();
    assert.deepEqual(await chat.openChoices(), ['Allow Once', 'Allow in this Workspace', 'Always Allow']);
    await chat.window.picture('agent, the ways to allow');
    await chat.window.choose('Allow Once');
    await chat.window.waitFor(
      async () => chat.isDone,
      (isDone) => isDone,
    );
    assert.ok(chat.isDone);
  });

  it('runs nothing that the person skips, and is told so', async () => {
    const [call] = await chat.send('skipped', 'Skip');
    assert.match(call?.text ?? '', /user/i);
    assert.deepEqual(
      (await commandsRun()).filter(({ command }) => command === 'touch skipped'),
      [],
    );
  });

  it('has its command stopped when the person cancels the request', async () => {
    await chat.submit('sleep');
    const running = async () => (await commandsRun()).find(({ command }) => command === 'echo begun; sleep 100');
    const begun = await chat.window.waitFor(
      async () => {
        await chat.answer('Allow');
        return running();
      },
      (command) => command?.state === 'running' && command.stdoutBytes > 0,
    );
    assert.equal(begun?.state, 'running');
    await chat.cancel();
    const ended = await chat.window.waitFor(running, (command) => command?.state === 'finished');
    assert.deepEqual([ended?.state, ended?.outcome, ended?.stdoutBytes], ['finished', 'cancelled', 6]);
  });
});

describe('the editor', () => {
  let chat: Chat;
  before(async () => {
    chat = await Chat.open();
  });
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await chat.window.picture(`failed: ${this.currentTest.title}`);
  });
  after(() => chat?.close());

  const options = () => chat.page.locator('.quick-input-list .monaco-list-row').allTextContents();
  const offered = (text: string) =>
    chat.window.waitFor(options, (rows) => rows.some((row) => row.includes(text)), 30_000);
  const toolsSeen = async () => {
    await chat.send('tools');
    const said = chat.page.locator('.interactive-response').last().locator('.rendered-markdown').last();
    await said.getByText('limpet_run_command').waitFor();
    return ((await said.textContent()) ?? '').trim().split(' ').sort();
  };

  it('knows the skill that teaches the tools, and offers it to whoever types /limpet', async () => {
    await chat.window.runCommand('Chat: Configure Skills...');
    assert.ok((await offered('limpet')).some((row) => /^limpet *Run shell commands in persistent sessions/.test(row)));
    await chat.window.picture('agent, the skill');
    await chat.window.dismiss();
    // Suggestions are made from what is known when one types, and the chat may learn of a skill a moment later.
    const suggested = chat.page.locator('.suggest-widget .monaco-list-row', { hasText: '/limpet' });
    const isOffered = await chat.window.waitFor(
      async () => {
        await chat.input.locator('.monaco-editor').first().click();
        await chat.page.keyboard.press('Control+a');
        await chat.page.keyboard.type('/limp');
        return suggested.waitFor({ timeout: 3000 }).then(
          () => true,
          () => false,
        );
      },
      (isThere) => isThere,
      30_000,
    );
    assert.ok(isOffered, 'typing /limp offers /limpet');
    await chat.page.keyboard.press('Escape');
    await chat.page.keyboard.press('Control+a');
    await chat.page.keyboard.press('Delete');
  });

  it('shows an agent each tool once, and lists the MCP server when the user wants it listed', async () => {
    const once = await toolsSeen();
    assert.equal(once.length, 8);
    assert.ok(once.every((name) => name.startsWith('limpet_')));

    await chat.send('announce on');
    await chat.window.runCommand('MCP: List Servers');
    assert.ok((await offered('Limpet')).some((row) => row.startsWith('Limpet')));
    await chat.window.picture('agent, the MCP server is listed');
    await chat.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Limpet' }).click();
    await chat.page.getByRole('option', { name: 'Start Server' }).click();
    await chat.window.outputShows(/Discovered 8 tools/, 30_000);
    await chat.window.picture('agent, the MCP server has started');

    const [call] = await chat.send('mcp');
    assert.match(call?.text ?? '', /^Exit code 0 [\s\S]*\n\nstdout:\nover mcp\n/);
    const [ran] = (await commandsRun()).filter(({ command }) => command === 'echo over mcp');
    assert.match(ran?.origin ?? '', /code/i);

    await chat.send('announce off');
    assert.deepEqual(await chat.window.waitFor(toolsSeen, (names) => names.length === 8, 60_000), once);
  });
});
