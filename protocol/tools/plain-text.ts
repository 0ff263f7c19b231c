const esc = String.fromCharCode(0x1b);
const bell = String.fromCharCode(0x07);
const backspace = String.fromCharCode(0x08);

const sequences = new RegExp(
  [
    // Operating system commands (titles, links) and the other strings, up to their terminator.
    `${esc}[\\]PX^_][^${bell}${esc}]*(?:${bell}|${esc}\\\\)?`,
    // Colours, cursor movements, modes.
    `${esc}\\[[0-?]*[ -/]*[@-~]?`,
    `${esc}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);
const otherControls = new RegExp(
  `[${String.fromCharCode(0)}-${backspace}\\v\\f${String.fromCharCode(0x0e)}-\\x1f\\x7f]`,
  'g',
);

/** Terminal output as a person would see it in the end: no colours, and of a progress line only its last state. */
export function plainText(raw: string): string {
  const lines = raw.replace(sequences, '').replace(/\r+\n/g, '\n');
  return lines
    .split('\n')
    .map((line) => withoutControls(lastState(line)))
    .join('\n');
}

function lastState(line: string): string {
  if (!line.includes('\r')) return line;
  const states = line.split('\r').filter((state) => state.trim() !== '');
  return states.at(-1) ?? '';
}

function withoutControls(line: string): string {
  return typedOver(line).replace(
    otherControls,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** What spinners draw and take back. */
function typedOver(line: string): string {
  if (!line.includes(backspace)) return line;
  const kept: string[] = [];
  for (const character of line) {
    if (character === backspace) kept.pop();
    else kept.push(character);
  }
  return kept.join('');
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Bytes that are not UTF-8 come as base64; what of them is text is shown, the rest as U+FFFD. */
export function decodeBytes(data: string, encoding: 'utf8' | 'base64' | undefined): string {
  if (encoding !== 'base64') return data;
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of data) {
    const value = alphabet.indexOf(character);
    if (value < 0) continue;
    held = (held << 6) | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
    held &= (1 << bits) - 1;
  }
  return decodeUtf8(bytes);
}

function decodeUtf8(bytes: readonly number[]): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const character = length === 1 ? String.fromCharCode(first) : sequence(bytes.slice(at, at + length), length);
    text += character ?? '\ufffd';
    at += character === undefined ? 1 : length;
  }
  return text;
}

function sequence(bytes: readonly number[], length: number): string | undefined {
  const [first = 0, ...rest] = bytes;
  const isWhole = first >= 0xc2 && first <= 0xf4 && bytes.length === length && rest.every((byte) => byte >> 6 === 2);
  if (!isWhole) return undefined;
  const point = rest.reduce((value, byte) => (value << 6) | (byte & 0x3f), first & (0xff >> (length + 1)));
  const isValid = point >= (length === 4 ? 0x10000 : length === 3 ? 0x800 : 0x80) && point <= 0x10ffff;
  return isValid && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : undefined;
}

/** How many bytes a text has in UTF-8. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}
