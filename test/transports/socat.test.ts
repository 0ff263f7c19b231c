import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { httpPort } from '../helpers/peers';
import { programs, Sandbox, until } from '../helpers/sidecar';

const shell = (script: string, env: NodeJS.ProcessEnv) =>
  promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, ...env } });

describe('the tools people have', () => {
  let sandbox: Sandbox;
  let path: string;
  before(async () => {
    sandbox = new Sandbox();
    ({ path } = await sandbox.socketSidecar(['--http', '127.0.0.1:0'], { LIMPET_TOKEN: 'curl-token' }));
  });
  after(() => sandbox.dispose());

  it('talk over the socket with socat: create, run, stream, destroy', async () => {
    const { stdout } = await shell(
      `ask() { printf '%s\\n' "$1" | socat -t 10 - UNIX-CONNECT:"$SOCKET"; }
       created=$(ask '{"id":"1","method":"session.create","params":{"cwd":"/"}}')
       id=$(printf '%s' "$created" | sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')
       ask '{"id":"2","method":"exec.run","params":{"session_id":"'$id'","command":"echo hello; exit 4"}}'
       ask '{"id":"3","method":"exec.stream","params":{"session_id":"'$id'","command":"echo a; sleep 0.3; echo b >&2"}}'
       ask '{"id":"4","method":"session.destroy","params":{"session_id":"'$id'"}}'`,
      { SOCKET: path },
    );
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const run = lines.find(({ id }) => id === '2');
    assert.deepEqual([run.ok, run.data.stdout, run.data.exit_code], [true, 'hello\n', 4]);
    const streamed = lines.filter(({ id }) => id === '3');
    assert.deepEqual(
      streamed.map(({ event, data, ok }) => [event ?? ok, event === undefined ? data.exit_code : data]),
      [
        ['stdout', 'a\n'],
        ['stderr', 'b\n'],
        [true, 0],
      ],
    );
    assert.deepEqual(lines.at(-1), { id: '4', ok: true, data: {} });
  });

  it('talk over HTTP with curl, and see a stream while it runs', async () => {
    const port = await httpPort(sandbox);
    const curl = (body: object) =>
      shell(
        `curl -sS -N -X POST "http://127.0.0.1:$PORT/" -H "Authorization: Bearer curl-token" -H "Content-Type: application/json" -d "$BODY"`,
        {
          PORT: String(port),
          BODY: JSON.stringify({ id: 1, ...body }),
        },
      );
    const { session_id } = JSON.parse((await curl({ method: 'session.create', params: { cwd: '/' } })).stdout).data;
    const running = curl({ method: 'exec.stream', params: { session_id, command: 'echo now; sleep 1; echo later' } });
    let seen = '';
    running.child.stdout?.on('data', (data) => {
      seen += data;
    });
    await until(() => seen.includes('"now\\n"'), 'the first line is seen');
    assert.ok(!seen.includes('later'));
    const lines = (await running).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ event, data }) => (event === undefined ? data.stdout : data)),
      ['now\n', 'later\n', 'now\nlater\n'],
    );
  });

  it('talk over standard input, as the documents show it', async () => {
    const { stdout } = await shell(
      `printf '%s\\n' '{"id":"1","method":"system.ping","params":{}}' | node "$SIDECAR" --stdin`,
      {
        ...sandbox.env,
        SIDECAR: programs().sidecar,
      },
    );
    assert.equal(JSON.parse(stdout).ok, true);
  });
});
