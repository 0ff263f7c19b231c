import type { Writable } from 'node:stream';
import { translate } from '../protocol/dialect';
import { type MethodName, methods, type Result } from '../protocol/methods';

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };
type Style = keyof typeof styles;

/** Where a command writes: its own two streams, plain or coloured, for people or as JSON. */
export class Screen {
  constructor(
    readonly out: Writable & { isTTY?: boolean },
    readonly err: Writable & { isTTY?: boolean },
    readonly json: boolean,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  line(text: string): void {
    this.out.write(`${text}\n`);
  }

  note(text: string): void {
    this.err.write(`limpet: ${text}\n`);
  }

  /** The answer of a method, in the fields of docs/PROTOCOL.md. */
  answer<M extends MethodName>(method: M, result: Result<M>): void {
    this.data(translate(methods[method].result, result, 'toLine'));
  }

  data(value: unknown): void {
    this.line(JSON.stringify(value, null, this.out.isTTY === true ? 2 : undefined));
  }

  paint(style: Style, text: string): string {
    const wanted = this.out.isTTY === true && !this.env.NO_COLOR && this.env.TERM !== 'dumb';
    return wanted ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
  }

  table(header: string[], rows: string[][]): void {
    const widths = header.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
    const render = (row: string[]) =>
      row
        .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd();
    this.line(this.paint('bold', render(header)));
    for (const row of rows) this.line(render(row));
  }
}

/** Writes to a stream and says when it can take more, so that a slow terminal or pager slows the source. */
export function pour(stream: Writable, bytes: Buffer): void | Promise<void> {
  // One that is closed takes nothing more, and would never say so again.
  if (stream.destroyed || stream.write(bytes)) return undefined;
  return new Promise((resolve) => {
    const goOn = () => {
      stream.off('drain', goOn).off('close', goOn);
      resolve();
    };
    stream.on('drain', goOn).on('close', goOn);
  });
}
