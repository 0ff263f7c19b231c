/** What a person types while a command runs: shown as typed, handed over line by line. */
export type Typed = { kind: 'line'; text: string } | { kind: 'interrupt' } | { kind: 'end' };

export class TypedInput {
  #line: string[] = [];

  constructor(private readonly write: (text: string) => void) {}

  take(data: string): Typed[] {
    const typed: Typed[] = [];
    for (const character of data.replaceAll('\r\n', '\r')) {
      if (character === '\r' || character === '\n') {
        this.write('\r\n');
        typed.push({ kind: 'line', text: `${this.#line.join('')}\n` });
        this.#line = [];
      } else if (character === '\x03') {
        this.write('^C');
        this.#line = [];
        typed.push({ kind: 'interrupt' });
      } else if (character === '\x04') {
        // As a terminal does it: what was typed so far is handed over; on an empty line it is the end.
        if (this.#line.length === 0) typed.push({ kind: 'end' });
        else typed.push({ kind: 'line', text: this.#line.splice(0).join('') });
      } else if (character === '\x7f' || character === '\b') {
        if (this.#line.pop() !== undefined) this.write('\b \b');
      } else if (character >= ' ' || character === '\t') {
        this.#line.push(character);
        this.write(character);
      }
    }
    return typed;
  }

  clear(): void {
    this.#line = [];
  }
}
