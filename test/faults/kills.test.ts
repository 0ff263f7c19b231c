import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SidecarClient } from '../../client/client';
import type { StreamName } from '../../protocol/values';
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

  async function everythingOf(commandId: string, stream: StreamName): Promise<string> {
    let text = '';
    for (let fromSeq = 1; ; ) {
      const { chunks, nextSeq, droppedBytes } = await client.request('exec.output', { commandId, stream, fromSeq });
      assert.equal(droppedBytes, 0);
      if (nextSeq === fromSeq) return text;
      text += chunks.map(({ data }) => data).join('');
      fromSeq = nextSeq;
    }
  }

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

  it('in the middle of both streams, three times: the command ends as it would have, and at most one read of each is lost', async () => {
    const { sessionId } = await create();
    const [blocks, perBlock] = [120, 5000];
    const numbers = '$((i * 5000 + 1)) $((i * 5000 + 5000))';
    const both = `seq -f 'out %08.0f' ${numbers} & seq -f 'err %08.0f' ${numbers} >&2; wait`;
    const command = `for i in {0..${blocks - 1}}; do ${both}; done; (exit 7)`;
    const { commandId } = await client.request('exec.start', { sessionId, command });
    const killedAfter = [5, 30, 60];
    for (const block of killedAfter) {
      const line = `^out 000*${block * perBlock}$`;
      await client.request('exec.wait', { commandId, until: [{ output: line }] });
      await killAndReplace();
    }
    const { exitCode, outcome } = await client.request('exec.wait', { commandId });
    assert.deepEqual([outcome, exitCode], ['exited', 7]);
    const lost = [];
    for (const stream of ['stdout', 'stderr'] as const) {
      const got = await everythingOf(commandId, stream);
      const whole = numbered(stream.slice(3, 6), blocks * perBlock);
      const sizes = cuts(got, whole);
      assert.ok(sizes.length <= killedAfter.length, `${stream} has ${sizes.length} cuts`);
      for (const size of sizes) assert.ok(size <= oneRead, `${size} bytes of ${stream} are lost at once`);
      lost.push(`${sizes.join(' + ') || 'none'} of ${whole.length} bytes of ${stream}`);
    }
    figure(`lost: ${lost.join(', ')}`);
  });

  it('while it creates a session: nothing of it is left that the next one does not know', async () => {
    let adopted = 0;
    for (let delay = 0; delay < 20; delay += 4) {
      const creating = create().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await killAndReplace();
      await creating;
      const { sessions } = await client.request('session.list', {});
      for (const { sessionId } of sessions) {
        assert.equal((await client.request('exec.run', { sessionId, command: 'echo a' })).stdout, 'a\n');
        await client.request('session.destroy', { sessionId });
        adopted++;
      }
      await until(() => left().length === 0, 'no process of it is left');
    }
    figure(`${adopted} of 5 sessions were made and gone on with, no process is left of the others`);
  });

  it('while it destroys a session: the session is gone, or whole', async () => {
    let whole = 0;
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
        whole++;
      }
      await until(() => left().length === 0, 'no process of it is left');
    }
    figure(`${5 - whole} of 5 sessions were gone, ${whole} whole`);
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

/** Lines that cannot be mistaken for one another. */
const numbered = (word: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${word} ${String(at + 1).padStart(8, '0')}\n`).join('');

/** How much is left out at each place where something is; what is there must be in order, and nothing else. */
function cuts(got: string, whole: string): number[] {
  const sizes: number[] = [];
  // Of any two lines' length one is complete.
  const enough = 2 * (whole.indexOf('\n') + 1);
  let [at, place] = [0, 0];
  while (at < got.length) {
    while (at < got.length && got[at] === whole[place]) {
      at++;
      place++;
    }
    if (at === got.length) break;
    const next = whole.indexOf(got.slice(at, at + enough), place);
    assert.ok(next > place, `"${got.slice(at, at + enough)}" belongs there`);
    sizes.push(next - place);
    place = next;
  }
  return place < whole.length ? [...sizes, whole.length - place] : sizes;
}
