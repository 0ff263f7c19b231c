import type { Piece } from './output';
import { plainText } from './plain-text';
import { toolCall, withoutNewline } from './report';

/** Neighbouring pieces of a stream as one. */
function merged(pieces: readonly Piece[]): Piece[] {
  const runs: Piece[] = [];
  for (const { stream: name, text } of pieces) {
    const last = runs.at(-1);
    if (last?.stream === name) last.text += text;
    else runs.push({ stream: name, text });
  }
  return runs;
}

/** No more than that many lines, those at the end. */
export function lastLines(pieces: readonly Piece[], count: number): Piece[] {
  const kept: Piece[] = [];
  let left = count;
  for (const { stream, text } of merged(pieces).reverse()) {
    const lines = withoutNewline(text).split('\n').slice(-left);
    if (left > 0) kept.unshift({ stream, text: lines.join('\n') });
    left = Math.max(0, left - lines.length);
  }
  return kept;
}

/** Pieces of output, with a label wherever the stream changes. */
export function written(pieces: readonly Piece[], stream: string): string {
  const runs = merged(pieces);
  if (runs.length === 0) return stream === 'both' ? 'There is nothing more.' : `There is nothing more on ${stream}.`;
  return runs.map(({ stream: name, text }) => `${name}:\n${withoutNewline(plainText(text))}`).join('\n\n');
}

export const lost = (bytes: number) => (bytes === 0 ? '' : `${bytes} bytes before this are no longer kept.`);

/** What had no room, and how to get it; without a pattern it is the beginning of what was asked for. */
export function leftOut(bytes: number, areMatches: boolean): string {
  if (bytes === 0) return '';
  return areMatches
    ? `${bytes} bytes of further matches are left out: narrow grep, or raise maxTokens.`
    : `${bytes} bytes of these lines are left out before this: ask for fewer lines, or raise maxTokens.`;
}

/** Whether there is more, and how to get it. */
export function ending(commandId: string, stream: string, cursor: string, atEnd: boolean, finished: boolean): string {
  const call = toolCall('limpet_read_output', { commandId, ...(stream === 'both' ? {} : { stream }), cursor });
  if (!atEnd) return `There is more: ${call}`;
  return finished
    ? 'The command has finished; this is the end of its output.'
    : `The command is still running. Later output: ${call}`;
}
