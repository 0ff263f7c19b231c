import http from 'node:http';
import net from 'node:net';
import { Duplex } from 'node:stream';
import {
  createMessageConnection,
  type MessageConnection,
  NullLogger,
  ProgressType,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { findRuntimes } from '../../client/client';
import { toSnake, translate } from '../../protocol/dialect';
import { isMethodName, methods } from '../../protocol/methods';
import { type Line, LineClient } from './line-client';
import { type Sandbox, until } from './sidecar';

export interface Exchange {
  /** Without their ids. */
  events: Omit<Line, 'id'>[];
  answer: Omit<Line, 'id'>;
}

/** One way to talk to a sidecar. All are spoken to in the line dialect, so that what they answer can be compared. */
export interface Peer {
  readonly transport: string;
  ask(method: string, params?: object): Promise<Exchange>;
  dispose(): void;
}

const token = 'contract-token';

/** A sidecar of its own for every transport there is. */
export const peers: Record<string, (sandbox: Sandbox) => Promise<Peer>> = {
  socket: async (sandbox) => linePeer('socket', await LineClient.connect((await sandbox.socketSidecar()).path)),
  stdin: async (sandbox) => {
    const { child } = sandbox.sidecar(['--stdin']);
    if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
    return linePeer('stdin', new LineClient(Duplex.from({ readable: child.stdout, writable: child.stdin })));
  },
  pipe: async (sandbox) => {
    sandbox.sidecar();
    const socket = await until(() => tryConnect(sandbox.pipe), 'the pipe is there');
    return rpcPeer('pipe', new StreamMessageReader(socket), new StreamMessageWriter(socket), () => socket.destroy());
  },
  stdio: async (sandbox) => {
    const { child } = sandbox.sidecar(['--stdio']);
    if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
    return rpcPeer('stdio', new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin), () =>
      child.kill(),
    );
  },
  http: async (sandbox) => {
    sandbox.sidecar(['--http', '127.0.0.1:0'], { LIMPET_TOKEN: token });
    return httpPeer(await httpPort(sandbox));
  },
};

export function httpPort(sandbox: Sandbox): Promise<number> {
  return until(() => {
    const all = findRuntimes(sandbox.runtimeDir).flatMap(({ transports }) => transports);
    const found = all.find((transport) => transport.kind === 'http');
    return found?.kind === 'http' ? Number(new URL(found.url).port) : undefined;
  }, 'http is listening');
}

function tryConnect(path: string): Promise<net.Socket | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

const withoutId = ({ id: _, ...rest }: Line) => rest;

function linePeer(transport: string, client: LineClient): Peer {
  let next = 0;
  return {
    transport,
    ask: async (method, params = {}) => {
      const id = `ask ${++next}`;
      const answer = await client.send({ id, method, params }).answer(id);
      const events = client.lines.filter((line) => line.id === id && line.event !== undefined);
      return { events: events.map(withoutId), answer: withoutId(answer) };
    },
    dispose: () => client.dispose(),
  };
}

function rpcPeer(transport: string, reader: StreamMessageReader, writer: StreamMessageWriter, end: () => void): Peer {
  const connection: MessageConnection = createMessageConnection(reader, writer, NullLogger);
  connection.onError(() => undefined);
  connection.listen();
  let next = 0;
  return {
    transport,
    ask: async (method, params = {}) => {
      const definition = isMethodName(method) ? methods[method] : undefined;
      const streamToken = `stream ${++next}`;
      const events: Omit<Line, 'id'>[] = [];
      const progress = connection.onProgress(new ProgressType<object>(), streamToken, (event) => {
        const schema = definition !== undefined && 'event' in definition ? definition.event : undefined;
        events.push((schema === undefined ? event : translate(schema, event, 'toLine')) as Line);
      });
      try {
        const sent = definition === undefined ? params : (translate(definition.params, params, 'fromLine') as object);
        const isStream = definition !== undefined && 'event' in definition;
        const result = await connection.sendRequest(method, isStream ? { ...sent, streamToken } : sent);
        const data = definition === undefined ? result : translate(definition.result, result, 'toLine');
        return { events, answer: { ok: true, data } };
      } catch (thrown) {
        if (!(thrown instanceof ResponseError)) throw thrown;
        const { code, ...data } = thrown.data as { code: string };
        const spelled = Object.fromEntries(Object.entries(data).map(([name, value]) => [toSnake(name), value]));
        const error = {
          code,
          message: thrown.message,
          ...(Object.keys(spelled).length === 0 ? {} : { data: spelled }),
        };
        return { events, answer: { ok: false, error } };
      } finally {
        progress.dispose();
      }
    },
    dispose: () => {
      connection.dispose();
      end();
    },
  };
}

function httpPeer(port: number): Peer {
  const agent = new http.Agent({ keepAlive: true });
  const post = (body: string) =>
    new Promise<Line[]>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const request = http.request({ host: '127.0.0.1', port, method: 'POST', headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () =>
          resolve(
            text
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line)),
          ),
        );
      });
      request.on('error', reject).end(body);
    });
  return {
    transport: 'http',
    ask: async (method, params = {}) => {
      const lines = await post(JSON.stringify({ id: 'h', method, params }));
      const answer = lines.pop();
      if (answer === undefined) throw new Error('no answer');
      return { events: lines.map(withoutId), answer: withoutId(answer) };
    },
    dispose: () => agent.destroy(),
  };
}
