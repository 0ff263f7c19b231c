import type { Socket } from 'node:net';
import {
  Message,
  type NotificationMessage,
  type RequestMessage,
  type ResponseMessage,
  StreamMessageReader,
} from 'vscode-jsonrpc/node';
import { type ErrorCode, errorCodes, LimpetError } from '../protocol/errors';

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** A promise asks for a pause: nothing more is read until it settles, so that a slow reader is not buried. */
export type OnEvent = (event: unknown) => void | Promise<void>;

interface Waiting {
  onEvent: OnEvent | undefined;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * The client's end of a vscode-jsonrpc pipe. The library frames the messages; they are handled here as they are read,
 * because its connection queues them and would drop an answer that arrives just before the pipe closes.
 */
export class Endpoint {
  private readonly reader: StreamMessageReader;
  private readonly waiting = new Map<number, Waiting>();
  private readonly listeners = new Set<() => void>();
  private nextId = 1;
  private pauses = 0;
  private closed = false;

  constructor(private readonly socket: Socket) {
    this.reader = new StreamMessageReader(socket);
    // Its timer for half a message goes on after it is disposed, and would keep the process alive.
    this.reader.partialMessageTimeout = 0;
    this.reader.onError(() => this.close());
    this.reader.listen((message) => this.receive(message));
    socket.on('error', () => this.close());
    // The reader decodes asynchronously: what it has read is still to come.
    socket.on('close', () => setImmediate(() => this.close()));
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** The request's own id serves as the token of its stream. */
  async request(method: string, params: object, { signal }: CallOptions, onEvent?: OnEvent): Promise<unknown> {
    if (this.closed) throw connectionLost();
    const id = this.nextId++;
    const cancel = () => this.send<NotificationMessage>({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
    const answer = new Promise<unknown>((resolve, reject) => this.waiting.set(id, { onEvent, resolve, reject }));
    const sent = onEvent === undefined ? params : { ...params, streamToken: id };
    this.send<RequestMessage>({ jsonrpc: '2.0', id, method, params: sent });
    if (signal === undefined) return answer;
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  onClose(listener: () => void): { dispose(): void } {
    if (this.closed) queueMicrotask(listener);
    else this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.reader.dispose();
    this.socket.destroy();
    for (const { reject } of this.waiting.values()) reject(connectionLost());
    this.waiting.clear();
    for (const listener of [...this.listeners]) listener();
    this.listeners.clear();
  }

  /** Header and content in one write: two would wake the other side twice. */
  private send<M extends Message>(message: M): void {
    const content = JSON.stringify(message);
    this.socket.write(`Content-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`);
  }

  private receive(message: Message): void {
    if (Message.isResponse(message)) this.settle(message);
    else if (Message.isNotification(message) && message.method === '$/progress') {
      const { token, value } = message.params as { token: number; value: unknown };
      const pause = this.waiting.get(token)?.onEvent?.(value);
      if (pause !== undefined) this.pauseFor(pause);
    }
  }

  private pauseFor(pause: Promise<void>): void {
    this.pauses++;
    this.socket.pause();
    const goOn = () => {
      if (--this.pauses === 0) this.socket.resume();
    };
    pause.then(goOn, goOn);
  }

  private settle({ id, result, error }: ResponseMessage): void {
    const request = typeof id === 'number' ? this.waiting.get(id) : undefined;
    if (request === undefined || typeof id !== 'number') return;
    this.waiting.delete(id);
    if (error === undefined) request.resolve(result);
    else request.reject(asLimpetError(error));
  }
}

export const connectionLost = () => new LimpetError('shutting_down', 'The connection to the sidecar was lost.');

function asLimpetError({ message, data: received }: NonNullable<ResponseMessage['error']>): LimpetError {
  const { code, ...data } = (received ?? {}) as { code?: unknown };
  const known = errorCodes.find((candidate) => candidate === code) ?? ('internal' satisfies ErrorCode);
  return new LimpetError(known, message, Object.keys(data).length === 0 ? undefined : data);
}
