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
import type { Connection, TransportContext } from './connection';
import { FramedReader, FramedWriter, frame } from './jsonrpc-framing';
import { StreamConnection } from './stream-connection';

const progress = new ProgressType<unknown>();

/** Serves one vscode-jsonrpc client: camelCase fields, streams as progress under the `streamToken` the request names. */
export function serveJsonRpc(
  input: Readable,
  output: Writable,
  transport: string,
  context: TransportContext,
): Connection {
  const { server, limits } = context;
  const caller: Caller = { transport, dialect: 'camel' };
  const connection = new StreamConnection(input, output, caller, context);
  const { inFlight, calls, outlet } = connection;
  const tooLarge = asResponseError(failure.answerTooLarge()).toJson();
  const writer = new FramedWriter(outlet, inFlight, tooLarge);
  const reader = new FramedReader(input, limits, inFlight, {
    refuse: (id, error) => outlet.write(frame({ jsonrpc: '2.0', id, error: asResponseError(error).toJson() })),
    corrupt: (error) => {
      outlet.write(frame({ jsonrpc: '2.0', id: null, error: asResponseError(error).toJson() }));
      connection.giveUp('its messages cannot be told apart');
    },
    firstMessage: () => connection.heard(),
  });
  const rpc = createMessageConnection(reader, writer, NullLogger);

  rpc.onRequest(async (method: string, received: unknown, token: CancellationToken) => {
    const [params, streamToken] = takeStreamToken(received);
    const emit = (event: unknown) => {
      if (connection.isClosed || streamToken === undefined) return undefined;
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

  input.on('end', () => {
    calls.stopAll();
    connection.finish();
  });
  connection.onClosed(() => rpc.dispose());
  rpc.onError(() => undefined);
  rpc.listen();
  return connection;
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
