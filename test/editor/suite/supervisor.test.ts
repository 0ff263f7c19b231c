import assert from 'node:assert/strict';
import type { SidecarClient } from '../../../client/client';
import { type SidecarState, Supervisor, type SupervisorOptions } from '../../../extension/supervisor';
import { eventually } from './limpet';

/** A connection as the supervisor sees it, without a process. */
class FakeClient {
  readonly sidecar = { pid: 4242, version: '0.0.0', protocolVersion: 1 };
  readonly requests: string[] = [];
  disposed = false;
  #listeners: (() => void)[] = [];

  async request(method: string): Promise<unknown> {
    this.requests.push(method);
    if (method === 'system.shutdown') this.close();
    return {};
  }

  onClose(listener: () => void) {
    this.#listeners.push(listener);
    return { dispose: () => undefined };
  }

  close(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }

  dispose(): void {
    this.disposed = true;
  }
}

function supervise(connect: () => Promise<FakeClient>, options: Partial<SupervisorOptions> = {}) {
  const supervisor = new Supervisor({
    connect: connect as unknown as () => Promise<SidecarClient>,
    backoffMs: [0, 1, 1, 1, 1],
    ...options,
  });
  const states: string[] = [];
  supervisor.onDidChange((state) => states.push(describeState(state)));
  return { supervisor, states };
}

const describeState = (state: SidecarState) =>
  state.kind === 'restarting' ? `restarting ${state.attempt}` : state.kind;

describe('the supervisor', () => {
  it('connects once, however often it is asked for the connection', async () => {
    let connections = 0;
    const { supervisor, states } = supervise(async () => {
      connections += 1;
      return new FakeClient();
    });
    const [first, second] = await Promise.all([supervisor.client(), supervisor.client()]);
    assert.equal(first, second);
    assert.equal(connections, 1);
    assert.deepEqual(states, ['starting', 'running']);
    supervisor.dispose();
  });

  it('gives up after five restarts and says why', async () => {
    let attempts = 0;
    const { supervisor, states } = supervise(async () => {
      attempts += 1;
      throw new Error('no such program');
    });
    await assert.rejects(supervisor.client(), { message: 'no such program' });
    assert.equal(attempts, 6);
    assert.deepEqual(states, [
      'starting',
      'restarting 1',
      'restarting 2',
      'restarting 3',
      'restarting 4',
      'restarting 5',
      'failed',
    ]);
    supervisor.dispose();
  });

  it('does not wait forever for a sidecar that never answers', async () => {
    const { supervisor } = supervise(() => new Promise(() => undefined), { connectTimeoutMs: 1 });
    await assert.rejects(supervisor.client(), { message: 'The sidecar does not answer.' });
    supervisor.dispose();
  });

  it('counts the restarts of a sidecar that comes up and dies at once', async () => {
    let attempts = 0;
    const { supervisor } = supervise(async () => {
      attempts += 1;
      const client = new FakeClient();
      setImmediate(() => client.close());
      return client;
    });
    supervisor.start();
    await eventually(() => supervisor.state.kind === 'failed');
    assert.equal(attempts, 6);
    supervisor.dispose();
  });

  it('forgets earlier restarts once the sidecar has been healthy for a while', async () => {
    const clients: FakeClient[] = [];
    const { supervisor, states } = supervise(
      async () => {
        const client = new FakeClient();
        clients.push(client);
        return client;
      },
      { healthyAfterMs: 5 },
    );
    supervisor.start();
    for (let life = 1; life <= 8; life += 1) {
      await eventually(() => clients.length === life && supervisor.state.kind === 'running');
      await new Promise((resolve) => setTimeout(resolve, 50));
      clients.at(-1)?.close();
    }
    await eventually(() => clients.length === 9 && supervisor.state.kind === 'running');
    assert.deepEqual([...new Set(states)], ['starting', 'running', 'restarting 1']);
    supervisor.dispose();
  });

  it('tries again from the start when asked to after it gave up', async () => {
    let works = false;
    const { supervisor } = supervise(async () => {
      if (!works) throw new Error('not yet');
      return new FakeClient();
    });
    await assert.rejects(supervisor.client());
    works = true;
    await supervisor.restart();
    assert.equal(supervisor.state.kind, 'running');
    supervisor.dispose();
  });

  it('asks the sidecar to end before it starts another', async () => {
    const clients: FakeClient[] = [];
    const { supervisor, states } = supervise(async () => {
      const client = new FakeClient();
      clients.push(client);
      return client;
    });
    await supervisor.client();
    await supervisor.restart();
    assert.deepEqual(
      clients.map(({ requests, disposed }) => ({ requests, disposed })),
      [
        { requests: ['system.shutdown'], disposed: true },
        { requests: [], disposed: false },
      ],
    );
    assert.deepEqual(states, ['starting', 'running', 'restarting 0', 'running']);
    supervisor.dispose();
  });

  it('lets go of the connection when disposed, twice as well as once, and starts nothing any more', async () => {
    const client = new FakeClient();
    const { supervisor, states } = supervise(async () => client);
    await supervisor.client();
    supervisor.dispose();
    supervisor.dispose();
    client.close();
    supervisor.start();
    assert.equal(client.disposed, true);
    assert.deepEqual(states, ['starting', 'running', 'stopped']);
    await assert.rejects(supervisor.client(), { message: 'Limpet is shutting down.' });
  });

  it('drops a connection that is made only after it was disposed', async () => {
    const client = new FakeClient();
    let connected: (made: FakeClient) => void = () => undefined;
    const { supervisor } = supervise(
      () =>
        new Promise((resolve) => {
          connected = resolve;
        }),
    );
    supervisor.start();
    supervisor.dispose();
    connected(client);
    await eventually(() => client.disposed);
  });
});
