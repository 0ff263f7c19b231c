import type { Readable } from 'node:stream';
import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type DataCallback,
  type Disposable,
  Message,
  type MessageReader,
  type MessageWriter,
  type NotificationMessage,
  type RequestMessage,
  type ResponseMessage,
} from 'vscode-jsonrpc/node';
import { failure, type LimpetError } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';
import { ContentSplitter } from './content-splitter';
import type { InFlight } from './in-flight';
import { parseMessage } from './message';
import type { Outlet } from './outlet';

export type FramingLimits = Pick<Limits, 'maxMessageBytes' | 'maxMessageDepth' | 'maxRequestsPerConnection'>;

export interface FramingEvents {
  /** A request to refuse without handling it. */
  refuse(id: string | number | null, error: LimpetError): void;
  /** The bytes make no sense any more: there is no way to find the next message. */
  corrupt(error: LimpetError): void;
  firstMessage(): void;
}

/** Reads framed messages within limits, and passes on only what a server can use: requests and their cancellation. */
export class FramedReader extends AbstractMessageReader implements MessageReader {
  private readonly splitter: ContentSplitter;

  constructor(
    private readonly input: Readable,
    private readonly limits: FramingLimits,
    private readonly inFlight: InFlight,
    private readonly events: FramingEvents,
  ) {
    super();
    this.splitter = new ContentSplitter(limits.maxMessageBytes);
  }

  listen(callback: DataCallback): Disposable {
    this.input.on('data', (chunk: Buffer) => {
      const failed = this.splitter.push(chunk, (content) => this.read(content, callback));
      if (failed !== undefined) this.events.corrupt(failed);
    });
    this.input.on('error', (error) => this.fireError(error));
    this.input.on('end', () => this.fireClose());
    this.input.on('close', () => this.fireClose());
    return { dispose: () => undefined };
  }

  private read(content: Buffer, callback: DataCallback): void {
    this.events.firstMessage();
    const parsed = parseMessage(content, this.limits);
    if ('error' in parsed) {
      this.events.refuse(null, parsed.error);
      return;
    }
    const message = parsed.value as Message;
    if (Message.isRequest(message)) this.admit(message, callback);
    else if (Message.isNotification(message)) this.admitCancellation(message, () => callback(message));
    else this.events.refuse(null, failure.invalidRequest('A message is a request with "id", "method" and "params".'));
  }

  private admit(request: RequestMessage, callback: DataCallback): void {
    const { id } = request;
    const refused = this.reasonToRefuse(id);
    if (refused !== undefined) this.events.refuse(id, refused);
    else if (id !== null) {
      this.inFlight.add(id);
      callback(request);
    }
  }

  private reasonToRefuse(id: string | number | null): LimpetError | undefined {
    if (id === null) return failure.invalidRequest('"id" must be a string or a number.');
    if (this.inFlight.has(id)) return failure.idInUse();
    const { maxRequestsPerConnection } = this.limits;
    return this.inFlight.size < maxRequestsPerConnection
      ? undefined
      : failure.tooManyRequests(maxRequestsPerConnection);
  }

  /** A server has no use for other notifications, and a queue of them would have no bound. */
  private admitCancellation({ method, params }: NotificationMessage, pass: () => void): void {
    if (method !== '$/cancelRequest' || typeof params !== 'object' || params === null) return;
    if (this.inFlight.cancel((params as { id?: unknown }).id as string | number)) pass();
  }
}

export class FramedWriter extends AbstractMessageWriter implements MessageWriter {
  constructor(
    private readonly outlet: Outlet,
    private readonly inFlight: InFlight,
    /** Sent in place of an answer that no string can hold. */
    private readonly tooLarge: ResponseMessage['error'],
  ) {
    super();
  }

  async write(message: Message): Promise<void> {
    this.outlet.write(this.encode(message));
    if (Message.isResponse(message)) this.settle(message);
  }

  end(): void {}

  private encode(message: Message): string {
    try {
      return frame(message);
    } catch (thrown) {
      if (!Message.isResponse(message)) throw thrown;
      return frame({ jsonrpc: message.jsonrpc, id: message.id, error: this.tooLarge });
    }
  }

  private settle(response: ResponseMessage): void {
    if (response.id !== null) this.inFlight.delete(response.id);
  }
}

export function frame(message: object): string {
  const content = JSON.stringify(message);
  return `Content-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
}
