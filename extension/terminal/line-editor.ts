/** What a person did at the prompt. */
export type Edit = { kind: 'submit'; line: string; shown: boolean } | { kind: 'interrupt' } | { kind: 'end' };

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const widthOf = (characters: readonly string[]) =>
  characters.reduce((width, character) => width + (wide.test(character) ? 2 : 1), 0);

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys arrive as control characters
const key = /\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|\x1b.|\r\n|[\s\S]/gu;

/** A line a person edits, with its history; everything it shows goes through `write`. */
export class LineEditor {
  columns = 80;
  #prompt = '';
  #promptWidth = 0;
  #line: string[] = [];
  #cursor = 0;
  /** Rows the shown cursor is below the prompt's first row. */
  #row = 0;
  #visible = false;
  #back = 0;
  #draft: string[] = [];

  constructor(
    private readonly write: (text: string) => void,
    /** Newest first. */
    private readonly history: () => readonly string[],
  ) {}

  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  /** Shows the prompt and what has been typed so far. */
  show(prompt: string, promptWidth: number): void {
    this.#prompt = prompt;
    this.#promptWidth = promptWidth;
    this.#row = 0;
    this.#visible = true;
    this.#draw();
  }

  /** Takes the line away, so that something else can be printed in its place. */
  hide(): void {
    if (!this.#visible) return;
    this.#visible = false;
    this.write(`${this.#toStart()}\x1b[J`);
  }

  take(data: string): Edit[] {
    const edits: Edit[] = [];
    for (const pressed of data.match(key) ?? []) {
      const edit = this.#press(pressed);
      if (edit !== undefined) edits.push(edit);
    }
    return edits;
  }

  #press(pressed: string): Edit | undefined {
    switch (pressed) {
      case '\r':
      case '\n':
      case '\r\n':
        return this.#submit();
      case '\x03':
        this.#leave('^C');
        this.#set([]);
        return { kind: 'interrupt' };
      case '\x04':
        if (this.isEmpty) return { kind: 'end' };
        return this.#edit(() => this.#line.splice(this.#cursor, 1));
      case '\x7f':
      case '\b':
        return this.#edit(() => {
          if (this.#cursor > 0) this.#line.splice(--this.#cursor, 1);
        });
      case '\x1b[3~':
        return this.#edit(() => this.#line.splice(this.#cursor, 1));
      case '\x1b[D':
      case '\x02':
        return this.#move(this.#cursor - 1);
      case '\x1b[C':
      case '\x06':
        return this.#move(this.#cursor + 1);
      case '\x1b[H':
      case '\x1bOH':
      case '\x01':
        return this.#move(0);
      case '\x1b[F':
      case '\x1bOF':
      case '\x05':
        return this.#move(this.#line.length);
      case '\x1b[A':
      case '\x10':
        return this.#recall(this.#back + 1);
      case '\x1b[B':
      case '\x0e':
        return this.#recall(this.#back - 1);
      case '\x15':
        return this.#edit(() => this.#line.splice(0, this.#cursor, ...this.#movedTo(0)));
      case '\x0b':
        return this.#edit(() => this.#line.splice(this.#cursor));
      case '\x17':
        return this.#edit(() => {
          let from = this.#cursor;
          while (from > 0 && this.#line[from - 1] === ' ') from--;
          while (from > 0 && this.#line[from - 1] !== ' ') from--;
          this.#line.splice(from, this.#cursor - from);
          this.#cursor = from;
        });
      case '\x0c':
        this.write('\x1b[2J\x1b[H');
        this.#row = 0;
        return this.#draw();
      default:
        if (pressed < ' ' && pressed !== '\t') return undefined;
        return this.#edit(() => this.#line.splice(this.#cursor++, 0, pressed));
    }
  }

  #submit(): Edit {
    const line = this.#line.join('');
    // What is typed ahead of the prompt is not on the screen.
    const shown = this.#visible;
    if (shown) this.#leave('');
    this.#set([]);
    return { kind: 'submit', line, shown };
  }

  /** The line stays on the screen; what comes next is below it. */
  #leave(mark: string): void {
    this.#cursor = this.#line.length;
    this.#draw();
    this.write(`${mark}\r\n`);
    this.#visible = false;
    this.#row = 0;
  }

  #set(line: string[]): void {
    this.#line = line;
    this.#cursor = line.length;
    this.#back = 0;
  }

  #movedTo(cursor: number): [] {
    this.#cursor = cursor;
    return [];
  }

  #edit(change: () => unknown): undefined {
    const before = this.#line.length;
    const wasAtEnd = this.#cursor === before;
    change();
    const grown = this.#line.length === before + 1 && wasAtEnd;
    const end = this.#promptWidth + widthOf(this.#line);
    // Typing at the end is the usual case, and needs no line drawn anew.
    if (grown && end % this.columns > 1 && this.#visible) this.write(this.#line.at(-1) ?? '');
    else this.#draw();
    return undefined;
  }

  #move(cursor: number): undefined {
    this.#cursor = Math.min(this.#line.length, Math.max(0, cursor));
    return this.#draw();
  }

  #recall(back: number): undefined {
    const lines = this.history();
    if (back < 0 || back > lines.length) return undefined;
    if (this.#back === 0) this.#draft = this.#line;
    const line = back === 0 ? this.#draft : [...(lines[back - 1] ?? '').replaceAll('\n', ' ')];
    this.#set([...line]);
    this.#back = back;
    return this.#draw();
  }

  #toStart(): string {
    return `${this.#row > 0 ? `\x1b[${this.#row}A` : ''}\r`;
  }

  #draw(): undefined {
    if (!this.#visible) return undefined;
    const end = this.#promptWidth + widthOf(this.#line);
    const target = this.#promptWidth + widthOf(this.#line.slice(0, this.#cursor));
    // A line that fills its row leaves the cursor on it until more is printed.
    const full = end > 0 && end % this.columns === 0 ? '\r\n' : '';
    const up = Math.floor(end / this.columns) - Math.floor(target / this.columns);
    const column = target % this.columns;
    this.write(
      `${this.#toStart()}\x1b[J${this.#prompt}${this.#line.join('')}${full}${up > 0 ? `\x1b[${up}A` : ''}\r${column > 0 ? `\x1b[${column}C` : ''}`,
    );
    this.#row = Math.floor(target / this.columns);
    return undefined;
  }
}
