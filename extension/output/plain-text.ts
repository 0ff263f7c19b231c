const esc = '\u001b';
const complete = new RegExp(
  `${esc}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007${esc}]*(?:\\u0007|${esc}\\\\)|[()*+][A-Za-z0-9]|[@-Z\\\\^_=>a-z78])`,
  'g',
);
const maxHeld = 256;

/** Makes terminal output readable where no terminal shows it: without colours, every carriage return a new line. */
export class PlainText {
  #held = '';

  /** A sequence may be split over two pieces: its beginning is held back until the rest is there. */
  take(piece: string): string {
    const text = (this.#held + piece).replace(complete, '');
    const start = text.lastIndexOf(esc);
    const cut = text.endsWith('\r') ? text.length - 1 : text.length;
    const end = start >= 0 && text.length - start < maxHeld ? Math.min(start, cut) : cut;
    this.#held = text.slice(end);
    return readable(text.slice(0, end));
  }

  rest(): string {
    const rest = readable(this.#held);
    this.#held = '';
    return rest;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

function readable(text: string): string {
  return text.replace(/\r+\n/g, '\n').replace(/\r/g, '\n').replace(control, '');
}
