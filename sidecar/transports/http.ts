import http from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { refusal } from '../../protocol/envelope';
import { failure } from '../../protocol/errors';
import type { Clients } from '../daemon/clients';
import { Refusal } from '../daemon/refusal';
import type { Connection, TransportContext } from './connection';
import { authority } from './http-address';
import { answerHttp } from './http-answer';
import { makeGuard } from './http-guard';
import { obtainToken } from './http-token';
import { ending } from './streams';

export interface HttpOptions {
  host: string;
  port: number;
  token: string | undefined;
  runtimeDir: string;
}

export interface HttpListening {
  url: string;
  tokenPath: string | null;
  close(): void;
  removeToken(): void;
}

/** Times within which a client must have sent its headers and its body. */
const timesFor = (handshakeMs: number) => ({
  headersTimeout: Math.min(10_000, handshakeMs),
  requestTimeout: 60_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: Math.min(1_000, handshakeMs),
});

export async function listenHttp(
  options: HttpOptions,
  context: TransportContext,
  clients: Clients,
): Promise<HttpListening> {
  // Our own guard checks the host, so that its answer is an envelope too.
  const server = http.createServer({
    ...timesFor(context.handshakeMs),
    requireHostHeader: false,
    maxHeaderSize: 16 * 1024,
  });
  const port = await listen(server, options);
  const token = obtainToken(options.token, options.runtimeDir, port);
  const guard = makeGuard({ token: token.value, host: options.host, port });

  const busy = new WeakMap<Socket, number>();
  server.on('connection', (socket) => {
    if (clients.isFull) socket.destroy();
    else clients.add(asConnection(socket, () => (busy.get(socket) ?? 0) > 0));
  });
  const handle = (request: http.IncomingMessage, response: http.ServerResponse, mayContinue: boolean) => {
    const { socket } = request;
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    response.on('close', () => {
      busy.set(socket, (busy.get(socket) ?? 1) - 1);
      socket.emit('answered');
    });
    answerHttp(request, response, guard, context, mayContinue).catch((thrown: unknown) => {
      context.log.error({ err: thrown }, 'http answer failed');
      socket.destroy();
    });
  };
  server.on('request', (request, response) => handle(request, response, false));
  // Whoever asks before sending a large body learns at once if it is refused.
  server.on('checkContinue', (request, response) => handle(request, response, true));
  server.on('clientError', answerBrokenRequest);

  return {
    url: `http://${authority(options.host, port)}`,
    tokenPath: token.path,
    removeToken: token.remove,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function listen(server: http.Server, { host, port }: HttpOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? 'unknown');
      reject(Refusal.cannotListen(authority(host, port), reason));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** A kept-alive connection is a client, whether or not a request is under way on it. */
function asConnection(socket: Socket, isBusy: () => boolean): Connection {
  const answered = async () => {
    while (isBusy() && !socket.destroyed) {
      await new Promise((resolve) => {
        socket.once('answered', resolve);
        socket.once('close', resolve);
      });
    }
  };
  return {
    answered,
    end: () => ending(socket).then(() => void socket.destroy()),
    dispose: () => void socket.destroy(),
    onClosed: (listener) => void socket.once('close', listener),
  };
}

/** What is not even HTTP gets an answer if it still can. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  // After an earlier answer, one more would be taken for an answer to something else.
  if (socket instanceof Socket && socket.bytesWritten > 0) {
    socket.end();
    return;
  }
  const [status, detail] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request took too long to arrive.']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'The headers are too large.']
        : ['400 Bad Request', 'This is not a valid HTTP request.'];
  const body = `${JSON.stringify(refusal(null, failure.invalidRequest(detail)))}\n`;
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  socket.end(head + body);
}
