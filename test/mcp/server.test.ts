import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { inputSchema, toolNames, tools } from '../../protocol/tools/definitions';
import { programs, Sandbox, until } from '../helpers/sidecar';
import { steady } from '../helpers/toolbox';

describe('limpet mcp', () => {
  let sandbox: Sandbox;
  let agent: Client;
  let transport: StdioClientTransport;

  beforeEach(async () => {
    sandbox = new Sandbox();
    await connect('some-agent');
  });

  async function connect(name: string): Promise<void> {
    const env = Object.entries(sandbox.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    transport = new StdioClientTransport({
      command: process.execPath,
      args: [programs().limpet, 'mcp'],
      env: { ...Object.fromEntries(env), LIMPET_SIDECAR_PATH: programs().sidecar },
      cwd: sandbox.work,
    });
    agent = new Client({ name, version: '1.0.0' });
    await agent.connect(transport);
  }

  afterEach(async () => {
    await agent.close();
    await sandbox.dispose();
  });

  interface Called {
    text: string;
    isError: boolean;
    commandId: string;
  }

  async function call(name: string, input: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Called> {
    const { content, isError = false } = await agent.callTool({ name, arguments: input }, signal ? { signal } : {});
    const [first, second] = content;
    assert.ok(first?.type === 'text' && second === undefined);
    const commandId = /Command (\S+)\./.exec(first.text)?.[1] ?? '';
    return { text: steady(first.text, sandbox), isError, commandId };
  }
  const run = (command: string, input: Record<string, unknown> = {}) =>
    call('limpet_run_command', { command, ...input });

  it('lists the tools with their schemas, and guides models', async () => {
    const { tools: listed } = await agent.listTools();
    assert.deepEqual(
      listed.map(({ name, description, inputSchema: schema, annotations }) => ({
        name,
        description,
        schema,
        readOnly: annotations?.readOnlyHint,
      })),
      toolNames.map((name) => ({
        name,
        description: tools[name].description,
        schema: inputSchema(name),
        readOnly: tools[name].readOnly,
      })),
    );
    assert.match(agent.getInstructions() ?? '', /limpet_run_command/);
    assert.equal(agent.getServerVersion()?.name, 'limpet');
  });

  it('does a whole job', async () => {
    const port = await freePort();
    assert.match(
      (await run('mkdir project && cd project && npm init -y >/dev/null && ls')).text,
      /stdout:\npackage\.json\n/,
    );
    writeFileSync(
      join(sandbox.work, 'project/server.js'),
      `require('node:http').createServer((_, answer) => answer.end('hello')).listen(${port}, () => console.log('listening'));`,
    );
    writeFileSync(
      join(sandbox.work, 'project/check.js'),
      `const { add } = require('./add'); if (add(1, 2) !== 3) { console.error('add(1, 2) is ' + add(1, 2)); process.exit(1); } console.log('ok');`,
    );
    await run(`cat > add.js <<'END'\nexports.add = (a, b) => a - b;\nEND`);

    const server = await run('node server.js', { background: true, waitFor: { port }, yieldMs: 20_000 });
    assert.match(
      server.text,
      /^Still running in the background after TIME\. The port accepts connections\.\n.*in WORK\/project\. /,
    );
    assert.match((await run(`curl -s http://127.0.0.1:${port}/`)).text, /stdout \(no newline at the end\):\nhello\n/);

    assert.deepEqual(await run('node check.js'), {
      text: `Exit code 1 after TIME.
Session WORKSPACE, in WORK/project. Command S:5.

stdout: empty

stderr:
add(1, 2) is -1`,
      isError: false,
      commandId: server.commandId.replace(/\d+$/, '5'),
    });
    await run(`sed -i 's/a - b/a + b/' add.js`);
    assert.match((await run('node check.js')).text, /^Exit code 0 .*\n.*\n\nstdout:\nok\n/);

    const stopped = await call('limpet_stop_command', { commandId: server.commandId });
    assert.equal(
      stopped.text,
      `Stopped after TIME. The session lives on.
Session WORKSPACE, in WORK/project. Command S:3.

stdout:
listening

stderr: empty`,
    );
    assert.match((await run(`curl -s http://127.0.0.1:${port}/`)).text, /^Exit code 7 /);
  });

  it('lets an agent that lost its context find and end what it began', async () => {
    const port = await freePort();
    const serve = `require('node:http').createServer((_, a) => a.end('x')).listen(${port}, '127.0.0.1', () => console.log('up'))`;
    await run(`cd / && secret=kept && node -e "${serve}"`, { background: true, waitFor: { port }, session: 'web' });
    await run('seq 1 1400000', { session: 'long' });
    await agent.close();
    await connect('the-same-agent');

    const { text } = await call('limpet_list_sessions');
    assert.match(
      text,
      /Session web \(S\): idle, bash, in WORK\n {2}S:1 {2}running in the background for TIME, by some-agent: /,
    );
    assert.match(
      text,
      /Session long \(S\): .*\n {2}S:1 {2}foreground, by some-agent: Exit code 0 after TIME\. {2}seq 1 1400000$/m,
    );
    const { content } = await agent.callTool({ name: 'limpet_list_sessions', arguments: {} });
    const [listed] = content;
    assert.ok(listed?.type === 'text');
    const idOf = (command: string) => new RegExp(`^ +(\\S+) .*${command}`, 'm').exec(listed.text)?.[1];
    assert.equal(
      (await call('limpet_read_output', { commandId: idOf('seq'), grep: '^1399999$' })).text,
      'stdout:\n1399999\n\nThe command has finished; this is the end of its output.',
    );
    assert.match(
      (await call('limpet_stop_command', { commandId: idOf('node') })).text,
      /^Stopped after TIME\. .*\n.*\n\nstdout:\nup\n/,
    );
  });

  it('shares sessions with the command line, and shows there who runs what', async () => {
    await run('x=shared', { session: 'both' });
    const program = sandbox.limpet(['run', '-s', 'both', 'echo $x']).endInput();
    assert.equal(await program.end(), 0);
    assert.equal(program.stdout, 'shared\n');
    const listed = sandbox.limpet(['ps', '--all', '--json']).endInput();
    await listed.end();
    const { commands } = JSON.parse(listed.stdout) as { commands: { origin: string }[] };
    assert.deepEqual(
      commands.map(({ origin }) => origin),
      ['some-agent', 'limpet'],
    );
  });

  it('cancels the command when the call is cancelled', async () => {
    const cancelling = new AbortController();
    const called = call('limpet_run_command', { command: 'touch begun; sleep 100; touch ended' }, cancelling.signal);
    await until(() => existsSync(join(sandbox.work, 'begun')), 'the command runs');
    cancelling.abort();
    await assert.rejects(called);
    const client = await sandbox.connect();
    await until(async () => {
      const { commands } = await client.request('exec.list', {});
      return commands.every(({ outcome }) => outcome === 'cancelled');
    }, 'the command is cancelled');
  });

  it('finds the next sidecar after one was killed', async () => {
    await run('x=1');
    const client = await sandbox.connect();
    const { pid } = client.sidecar;
    process.kill(pid, 'SIGKILL');
    await until(async () => !(await run('echo back')).isError, 'a command runs again');
    assert.match((await run('echo back')).text, /stdout:\nback\n/);
  });

  it('answers mistakes with what to do, and not with a protocol error', async () => {
    const mistake = await call('limpet_destroy_session', { session: 'nosuch' });
    assert.deepEqual(mistake, {
      text: 'Error (session_not_found): There is no session "nosuch". limpet_list_sessions shows the ones there are.',
      isError: true,
      commandId: '',
    });
  });

  it('serves clients of an earlier revision of the protocol', async () => {
    const program = sandbox.limpet(['mcp'], { LIMPET_SIDECAR_PATH: programs().sidecar });
    const send = (message: object) => program.type(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const answer = (id: number) =>
      until(
        () =>
          program.stdout
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line))
            .find((message) => message.id === id)?.result,
        `request ${id} is answered`,
      );
    const clientInfo = { name: 'older', version: '1' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    assert.equal((await answer(1)).protocolVersion, '2025-06-18');
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'limpet_run_command', arguments: { command: 'echo hi' } } });
    assert.match((await answer(2)).content[0].text, /stdout:\nhi\n/);
    program.endInput();
    assert.equal(await program.end(), 0);
  });

  it('ends when its client does', async () => {
    const { pid } = transport;
    assert.ok(pid);
    await agent.close();
    await until(() => !existsSync(`/proc/${pid}`), 'it has ended');
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
