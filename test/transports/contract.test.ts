import assert from 'node:assert/strict';
import { type Exchange, type Peer, peers } from '../helpers/peers';
import { Sandbox } from '../helpers/sidecar';

/** One conversation, held over every transport; what it says must be the same everywhere. */
async function conversation({ ask }: Peer, cwd: string): Promise<Record<string, unknown>> {
  const data = async (method: string, params: object = {}) => {
    const { answer } = await ask(method, params);
    assert.equal(answer.ok, true, `${method}: ${answer.error?.message}`);
    return answer.data;
  };
  const said: Record<string, unknown> = {};
  const created = await data('session.create', {
    cwd,
    name: 'contract',
    env: { keptAsIs: 'camel', kept_as_is: 'snake' },
  });
  const { session_id } = created;
  const run = (command: string, more: object = {}) => ask('exec.run', { session_id, command, ...more });

  said.created = created;
  said.ping = await data('system.ping');
  said.describe = await data('runtime.describe');
  said.list = await data('session.list');
  said.renamed = await data('session.rename', { session_id, name: 'renamed' });
  said.state = [await run('cd /; greet() { echo "hello $1"; }; x=1'), await run('pwd; greet you; echo $x')];
  said.streams = await run('echo out; echo err >&2; exit 3');
  said.env = await run('echo "$keptAsIs $kept_as_is $own"', { env: { own: 'mine' } });
  said.input = await run('tr a-z A-Z', { stdin: 'shout\n' });
  said.binary = await run("printf '\\377\\000'");
  said.unicode = await run("printf 'ä€😀'");
  said.cut = await run('seq 1 100000', { max_output_bytes: 100 });
  said.timedOut = await run('echo before; sleep 60', { timeout_ms: 300 });
  said.streamed = joined(await ask('exec.stream', { session_id, command: 'echo 1; echo 2 >&2; printf "\\377"' }));
  const { command_id } = await data('exec.start', {
    session_id,
    command: 'read x; echo "got $x"',
    keep_stdin_open: true,
  });
  said.inputDone = await ask('exec.input', { command_id, data: 'it\n', eof: true });
  said.waited = (await data('exec.wait', { command_id, until: [{ output: 'got' }, { silence_ms: 60_000 }] })).met;
  said.ended = await ask('exec.wait', { command_id });
  said.output = await ask('exec.output', { command_id });
  said.followed = joined(await ask('exec.follow', { command_id }));
  said.late = await ask('exec.input', { command_id, data: 'x' });
  const background = await data('exec.start', { session_id, command: 'sleep 100', background: true });
  said.listed = await ask('exec.list', { session_id, running_only: true });
  said.cancelled = await ask('exec.cancel', { command_id: background.command_id });
  said.unknownMethod = await ask('exec.nope');
  said.unknownSession = await ask('exec.run', { session_id: 's-00000000', command: 'true' });
  said.unknownCommand = await ask('exec.wait', { command_id: 'nope' });
  said.wrongCwd = await ask('session.create', { cwd: '/no/such/place' });
  said.wrongShell = await ask('session.create', { shell: 'nosuchshell' });
  said.stats = await data('system.stats');
  said.destroyed = await ask('session.destroy', { session_id });
  said.afterDestroy = await run('true');
  said.empty = await data('session.list');
  return said;
}

/** Where a stream is cut into pieces is chance; what it says is not. */
function joined({ events, answer }: Exchange): object {
  const text = (stream: string) =>
    Buffer.concat(
      events
        .filter(({ event }) => event === stream)
        .map(({ data, encoding }) => Buffer.from(data, (encoding ?? 'utf8') as BufferEncoding)),
    ).toString('latin1');
  return {
    stdout: text('stdout'),
    stderr: text('stderr'),
    ordered: events.every(({ seq }, at) => at === 0 || seq === (events[at - 1]?.seq ?? 0) + 1),
    answer,
  };
}

/** Replaces what differs from run to run by its kind. */
function steady(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => steady(item));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, steady(inner, name)]));
  }
  if (
    key === 'pid' ||
    key === 'evidence' ||
    key === 'kind' ||
    key === 'time' ||
    key.endsWith('_ms') ||
    key === 'rss_bytes'
  )
    return typeof value;
  if (typeof value !== 'string') return value;
  if (key.endsWith('_at') || key === 'log_path') return 'string';
  return value.replace(/limpet-[A-Za-z0-9]{6}/g, 'limpet-…').replace(/s-[0-9a-f]{8}(-[0-9a-z]+)?/g, 's-…$1');
}

describe('the wire contract', () => {
  const heard = new Map<string, Record<string, unknown>>();

  for (const [transport, open] of Object.entries(peers)) {
    it(`is spoken over ${transport}`, async () => {
      const sandbox = new Sandbox();
      try {
        const peer = await open(sandbox);
        heard.set(transport, steady(await conversation(peer, sandbox.work)) as Record<string, unknown>);
        peer.dispose();
      } finally {
        await sandbox.dispose();
      }
    });
  }

  it('is the same over every transport', () => {
    const [[, first] = ['', {}], ...others] = [...heard].map(
      ([transport, said]) => [transport, withoutTransport(said)] as const,
    );
    assert.equal(heard.size, 5);
    for (const [, said] of others) assert.deepEqual(said, first);
  });
});

/** Who asked, and how, is the one thing that may differ. */
function withoutTransport(said: Record<string, unknown>): unknown {
  return JSON.parse(
    JSON.stringify(said, (key, value) =>
      key === 'origin' || key === 'transports' || key === 'uptime_ms' ? typeof value : value,
    ),
  );
}
