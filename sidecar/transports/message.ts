import { isUtf8 } from 'node:buffer';
import { failure, type LimpetError } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';

/** Far above any real request; a message of a million tiny values would cost gigabytes once parsed. */
const maxValues = 1_000_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

export type Parsed = { value: unknown } | { error: LimpetError };

/** Bytes to JSON, refusing what would be expensive before anything is built from it. */
export function parseMessage(bytes: Buffer, limits: Pick<Limits, 'maxMessageDepth'>): Parsed {
  if (!isUtf8(bytes)) return { error: failure.parseError('it is not UTF-8.') };
  const excess = findExcess(bytes, limits.maxMessageDepth);
  if (excess !== undefined) return { error: excess };
  try {
    return { value: JSON.parse(bytes.toString('utf8')) };
  } catch (thrown) {
    return { error: failure.parseError(whatJsonSays(thrown)) };
  }
}

function findExcess(bytes: Buffer, maxDepth: number): LimpetError | undefined {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === backslash) at++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxDepth) {
        return failure.invalidRequest(`The message is nested deeper than ${maxDepth} levels. Flatten it.`);
      }
    } else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === comma && ++values > maxValues) {
      return failure.invalidRequest(`The message holds more than ${maxValues} values. Send less at once.`);
    }
  }
  return undefined;
}

/** Only what kind of mistake and where: the text there may be long or private. */
function whatJsonSays(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : '';
  const position = /position (\d+)/.exec(said)?.[1];
  const mistake = said.includes('end of JSON')
    ? 'it ends too early'
    : `the text${position === undefined ? '' : ` at position ${position}`} is no JSON`;
  return `${mistake}. Send one whole JSON object per message.`;
}
