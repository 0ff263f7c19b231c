import type { Readable, Writable } from 'node:stream';
import { type Envelope, type RequestId, readEnvelope, refusal } from '../../protocol/envelope';
import { failure, type LimpetError } from '../../protocol/errors';
import type { Caller } from '../server';
import { Calls, type Connection, type TransportContext } from './connection';
import { InFlight } from './in-flight';
import { answerLine, encodeLine } from './line-call';
import { LineSplitter } from './line-splitter';
import { parseMessage } from './message';
import { Outlet } from './outlet';
import { ending } from './streams';

/** Serves one client of the line dialect: a JSON object per line, both ways. */
export function serveLines(
  input: Readable,
  output: Writable,
  transport: string,
  context: TransportContext,
): Connection {
  const { server, limits, log } = context;
  const caller: Caller = { transport, dialect: 'line' };
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
    input.destroy();
    output.destroy();
    for (const listener of listeners.splice(0)) listener();
  };
  const outlet = new Outlet(output, input, (reason) => {
    log.warn({ transport, client: caller.name, reason }, 'client given up');
    close();
  });
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
      clearTimeout(handshake);
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

  const handshake = setTimeout(close, context.handshakeMs);
  handshake.unref();
  input.on('data', (chunk: Buffer) => splitter.push(chunk));
  input.on('end', () => {
    splitter.end();
    calls.stopEndless();
    inFlight
      .none()
      .then(() => ending(output))
      .then(close, close);
  });
  input.on('error', close);
  input.on('close', () => {
    // A destroyed input never says 'end'.
    if (!input.readableEnded) close();
  });
  output.on('error', close);
  output.on('close', close);

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
