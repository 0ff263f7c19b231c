import type { Readable, Writable } from 'node:stream';
import {
  type CancellationToken,
  createMessageConnection,
  ErrorCodes,
  NullLogger,
  ProgressType,
  ResponseError,
} from 'vscode-jsonrpc/node';
import { type ErrorCode, failure, type LimpetError, toErrorBody } from '../../protocol/errors';
import type { Caller } from '../server';
import { Calls, type Connection, type TransportContext } from './connection';
import { InFlight } from './in-flight';
import { FramedReader, FramedWriter, frame } from './jsonrpc-framing';
import { Outlet } from './outlet';
import { ending } from './streams';

const progress = new ProgressType<unknown>();

/** Serves one vscode-jsonrpc client: camelCase fields, streams as progress under the `streamToken` the request names. */
export function serveJsonRpc(
  input: Readable,
  output: Writable,
  transport: string,
  context: TransportContext,
): Connection {
  const { server, limits, log } = context;
  const caller: Caller = { transport, dialect: 'camel' };
  const inFlight = new InFlight();
  const calls = new Calls(() => outlet.ready());
  const listeners: (() => void)[] = [];
  let closed = false;

  const close = () => {
    if (closed) return;
    closed = true;
    clearTimeout(handshake);
    calls.stopAll();
    outlet.dispose();
    rpc.dispose();
    input.destroy();
    output.destroy();
    for (const listener of listeners.splice(0)) listener();
  };
  const giveUp = (reason: string) => {
    log.warn({ transport, client: caller.name, reason }, 'client given up');
    close();
  };

  const outlet = new Outlet(output, input, giveUp);
  const tooLarge = asResponseError(failure.answerTooLarge()).toJson();
  const writer = new FramedWriter(outlet, inFlight, tooLarge);
  const reader = new FramedReader(input, limits, inFlight, {
    refuse: (id, error) => outlet.write(frame({ jsonrpc: '2.0', id, error: asResponseError(error).toJson() })),
    corrupt: (error) => {
      outlet.write(frame({ jsonrpc: '2.0', id: null, error: asResponseError(error).toJson() }));
      giveUp('its messages cannot be told apart');
    },
    firstMessage: () => clearTimeout(handshake),
  });
  const rpc = createMessageConnection(reader, writer, NullLogger);

  rpc.onRequest(async (method: string, received: unknown, token: CancellationToken) => {
    const [params, streamToken] = takeStreamToken(received);
    const emit = (event: unknown) => {
      if (closed || streamToken === undefined) return undefined;
      rpc.sendProgress(progress, streamToken, event).catch(() => undefined);
      return outlet.ready();
    };
    const call = calls.begin(caller, emit);
    if (token.isCancellationRequested) call.stop();
    else token.onCancellationRequested(() => call.stop());
    try {
      return await server.handle(method, params, call);
    } catch (thrown) {
      return asResponseError(thrown);
    } finally {
      call.end();
    }
  });

  const handshake = setTimeout(() => giveUp('it said nothing'), context.handshakeMs);
  handshake.unref();
  input.on('end', () => {
    calls.stopAll();
    inFlight
      .none()
      .then(() => ending(output))
      .then(close, close);
  });
  input.on('error', close);
  output.on('error', close);
  output.on('close', close);
  rpc.onError(() => undefined);
  rpc.listen();

  return {
    answered: () => inFlight.none(),
    end: () => ending(output).then(close),
    dispose: close,
    onClosed: (listener) => {
      if (closed) listener();
      else listeners.push(listener);
    },
  };
}

function takeStreamToken(received: unknown): [params: unknown, streamToken: string | number | undefined] {
  if (typeof received !== 'object' || received === null || !('streamToken' in received)) return [received, undefined];
  const { streamToken, ...params } = received;
  return [params, typeof streamToken === 'string' || typeof streamToken === 'number' ? streamToken : undefined];
}

const numbers: Partial<Record<ErrorCode, number>> = {
  parse_error: ErrorCodes.ParseError,
  invalid_request: ErrorCodes.InvalidRequest,
  unknown_method: ErrorCodes.MethodNotFound,
  invalid_params: ErrorCodes.InvalidParams,
  internal: ErrorCodes.InternalError,
};

/** JSON-RPC wants a number; ours are strings, so they travel in `data`. */
function asResponseError(thrown: unknown): ResponseError<Record<string, unknown>> {
  const { code, message, data } = toErrorBody(thrown as LimpetError);
  return new ResponseError(numbers[code] ?? -32000, message, { ...data, code });
}
