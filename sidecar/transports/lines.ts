import type { Readable, Writable } from 'node:stream';
import { type Envelope, type RequestId, readEnvelope, refusal } from '../../protocol/envelope';
import { failure, type LimpetError } from '../../protocol/errors';
import type { Caller } from '../server';
import type { Connection, TransportContext } from './connection';
import { answerLine, encodeLine } from './line-call';
import { LineSplitter } from './line-splitter';
import { parseMessage } from './message';
import { StreamConnection } from './stream-connection';

/** Serves one client of the line dialect: a JSON object per line, both ways. */
export function serveLines(
  input: Readable,
  output: Writable,
  transport: string,
  context: TransportContext,
): Connection {
  const { server, limits, log } = context;
  const caller: Caller = { transport, dialect: 'line' };
  const connection = new StreamConnection(input, output, caller, context);
  const { inFlight, calls, outlet } = connection;
  const sendEvent = (event: object) => {
    outlet.write(`${JSON.stringify(event)}\n`);
    return outlet.ready();
  };
  const refuse = (id: RequestId | null, error: LimpetError) => outlet.write(encodeLine(refusal(id, error)));

  const answer = async (request: Envelope) => {
    inFlight.add(request.id);
    try {
      outlet.write(encodeLine(await answerLine(server, request, caller, calls, sendEvent)));
    } finally {
      inFlight.delete(request.id);
    }
  };

  const splitter = new LineSplitter(limits.maxMessageBytes, {
    tooLong: () => refuse(null, failure.payloadTooLarge(limits.maxMessageBytes)),
    line: (bytes) => {
      connection.heard();
      const parsed = parseMessage(bytes, limits);
      if ('error' in parsed) return refuse(null, parsed.error);
      const request = readEnvelope(parsed.value);
      if ('error' in request) return refuse(request.id, request.error);
      if (inFlight.has(request.id)) return refuse(request.id, failure.idInUse());
      if (inFlight.size >= limits.maxRequestsPerConnection) {
        return refuse(request.id, failure.tooManyRequests(limits.maxRequestsPerConnection));
      }
      answer(request).catch((thrown) => log.error({ err: thrown }, 'answer failed'));
    },
  });

  input.on('data', (chunk: Buffer) => splitter.push(chunk));
  input.on('end', () => {
    splitter.end();
    calls.stopEndless();
    connection.finish();
  });
  return connection;
}
