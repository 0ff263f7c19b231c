import net from 'node:net';
import type { Duplex } from 'node:stream';

export interface Line {
  id: string | number | null;
  ok?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: whatever came over the wire, for a test to compare
  data?: any;
  error?: { code: string; message: string; data?: Record<string, unknown> };
  event?: string;
  seq?: number;
  encoding?: string;
}

/** Speaks the line dialect as plainly as a shell script would. */
export class LineClient {
  readonly lines: Line[] = [];
  closed = false;
  private rest = '';
  private nextId = 1;
  private readonly waiting = new Set<() => void>();

  static async connect(path: string): Promise<LineClient> {
    for (;;) {
      const socket = net.connect({ path, allowHalfOpen: true });
      const failed = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
        socket.once('error', resolve);
        socket.once('connect', () => resolve(undefined));
      });
      if (failed === undefined) return new LineClient(socket);
      // The queue of those who wait to be let in is full.
      if (failed.code !== 'EAGAIN') throw failed;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  constructor(readonly stream: Duplex) {
    stream.setEncoding('utf8');
    stream.on('error', () => undefined);
    stream.on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop() ?? '';
      this.lines.push(...lines.map((line) => JSON.parse(line) as Line));
      this.wake();
    });
    const end = () => {
      this.closed = true;
      this.wake();
    };
    stream.on('end', end);
    stream.on('close', end);
  }

  raw(text: string | Buffer): this {
    this.stream.write(text);
    return this;
  }

  send(message: unknown): this {
    return this.raw(`${JSON.stringify(message)}\n`);
  }

  /** Resolves with the first line that fits, already there or still to come; undefined when the connection ends first. */
  async find(fits: (line: Line) => boolean): Promise<Line | undefined> {
    for (;;) {
      const found = this.lines.find(fits);
      if (found !== undefined || this.closed) return found;
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  /** The response to this id. */
  async answer(id: string | number | null): Promise<Line> {
    const found = await this.find((line) => line.id === id && line.ok !== undefined);
    if (found === undefined) throw new Error(`the connection ended without an answer to ${id}`);
    return found;
  }

  request(method: string, params: object = {}): Promise<Line> {
    const id = `r${this.nextId++}`;
    this.send({ id, method, params });
    return this.answer(id);
  }

  /** The data of an answer that must be a success. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever came over the wire, for a test to compare
  async data(method: string, params: object = {}): Promise<any> {
    const answer = await this.request(method, params);
    if (answer.ok !== true) throw new Error(`${method}: ${answer.error?.code} ${answer.error?.message}`);
    return answer.data;
  }

  dispose(): void {
    this.stream.destroy();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
