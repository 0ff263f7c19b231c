import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SidecarClient } from '../../client/client';
import { isAlive, processesMarked } from '../helpers/processes';
import { Sandbox, until } from '../helpers/sidecar';
import { figure, long } from '../helpers/station';

const kills = long ? 200 : 6;
const oneRead = 64 * 1024;
let marks = 0;

describe('A sidecar that is killed', () => {
  let sandbox: Sandbox;
  let client: SidecarClient;
  let mark: string;

  beforeEach(async () => {
    sandbox = new Sandbox();
    mark = `${process.pid}-${++marks}.`;
    client = await sandbox.connect();
  });
  afterEach(() => sandbox.dispose());

  const create = () => client.request('session.create', { cwd: sandbox.work, env: { KILLED_BY_TEST: mark } });
  const left = () => processesMarked(`KILLED_BY_TEST=${mark}`);

  /** Answers with how many milliseconds passed until the next one answered. */
  async function killAndReplace(): Promise<number> {
    const { pid } = client.sidecar;
    process.kill(pid, 'SIGKILL');
    const killed = performance.now();
    await until(() => !isAlive(pid), 'it is gone');
    client.dispose();
    client = await sandbox.connect();
    return Math.round(performance.now() - killed);
  }

  it('while idle: the next one has the same shell with its state', async () => {
    const { sessionId, pid } = await create();
    await client.request('exec.run', { sessionId, command: 'x=kept; cd /' });
    const took = await killAndReplace();
    const { stdout, cwd } = await client.request('exec.run', { sessionId, command: 'echo "$x"' });
    assert.deepEqual([stdout, cwd], ['kept\n', '/']);
    assert.equal((await client.request('session.info', { sessionId })).pid, pid);
    figure(`the next one answered ${took} ms after the kill`);
  });

  it('in the middle of a stream: the command ends as it would have, and at most one read is lost', async () => {
    const { sessionId } = await create();
    const command = 'for i in {1..300}; do echo "line $i"; sleep 0.002; done; (exit 7)';
    const { commandId } = await client.request('exec.start', { sessionId, command });
    await client.request('exec.wait', { commandId, until: [{ output: 'line 50\n' }] });
    await killAndReplace();
    const { exitCode, outcome } = await client.request('exec.wait', { commandId });
    assert.deepEqual([outcome, exitCode], ['exited', 7]);
    const { chunks } = await client.request('exec.output', { commandId });
    const lines = chunks.map(({ data }) => data).join('');
    const whole = Array.from({ length: 300 }, (_, at) => `line ${at + 1}\n`).join('');
    const lost = whole.length - lines.length;
    assert.ok(lost >= 0 && lost <= oneRead, `${lost} bytes are lost`);
    const [head = '', tail = ''] = [commonHead(lines, whole), lines.slice(commonHead(lines, whole).length)];
    assert.ok(whole.endsWith(tail), 'what is there is in order');
    figure(`${lost} of ${whole.length} bytes lost, after ${head.length}`);
  });

  it('while it creates a session: nothing of it is left that the next one does not know', async () => {
    for (let delay = 0; delay < 20; delay += 4) {
      const creating = create().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await killAndReplace();
      await creating;
      const { sessions } = await client.request('session.list', {});
      for (const { sessionId } of sessions) {
        assert.equal((await client.request('exec.run', { sessionId, command: 'echo a' })).stdout, 'a\n');
        await client.request('session.destroy', { sessionId });
      }
      await until(() => left().length === 0, 'no process of it is left');
    }
  });

  it('while it destroys a session: the session is gone, or whole', async () => {
    for (let delay = 0; delay < 20; delay += 4) {
      const { sessionId } = await create();
      await client.request('exec.start', { sessionId, command: 'sleep 300', background: true });
      const destroying = client.request('session.destroy', { sessionId }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await killAndReplace();
      await destroying;
      if ((await client.request('session.list', {})).sessions.length > 0) {
        assert.equal((await client.request('exec.run', { sessionId, command: 'echo a' })).stdout, 'a\n');
        await client.request('session.destroy', { sessionId });
      }
      await until(() => left().length === 0, 'no process of it is left');
    }
  });

  it(`${kills} times at random moments under load: no session, command or exit code is lost`, async function () {
    this.timeout(long ? 1_800_000 : 120_000);
    const soak = join(__dirname, '..', 'soak', 'main.ts');
    const args = ['--import', 'tsx', soak, '--kills', String(kills), '--hand-overs', '2', '--sessions', '4'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, said);
    for (const line of said.split('\n')) if (/^(commands|kills|hand-overs|bytes lost)/.test(line)) figure(line);
  });
});

function commonHead(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return one.slice(0, at);
}
