import { maxTimeoutMs } from '../protocol/limits';
import { UsageError } from './command';

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** "1500ms", "30s", "2m", "1h"; a bare number is seconds. */
export function duration(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(given) ?? [];
  const ms = Math.round(Number(amount) * (units[unit] ?? Number.NaN));
  if (!(ms >= 1 && ms <= maxTimeoutMs)) {
    throw new UsageError(`${JSON.stringify(given)} is not a duration: use for example 500ms, 30s, 5m or 1h.`);
  }
  return ms;
}

export function wholeNumber(given: string | undefined, meaning: string): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,15}$/.test(given))
    throw new UsageError(`${meaning} must be a whole number, not ${JSON.stringify(given)}.`);
  return Number(given);
}

/** `NAME=VALUE`, or `NAME` alone to pass on the caller's own value. */
export function environment(pairs: string[], own: NodeJS.ProcessEnv): Record<string, string> | undefined {
  if (pairs.length === 0) return undefined;
  const made: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const name = at < 0 ? pair : pair.slice(0, at);
    if (name === '') throw new UsageError(`--env takes NAME=VALUE, not ${JSON.stringify(pair)}.`);
    made[name] = at < 0 ? (own[name] ?? '') : pair.slice(at + 1);
  }
  return made;
}

/** One argument is shell text as it stands; several are words, quoted so that the shell sees exactly those. */
export function commandText(words: string[]): string {
  const [first, second] = words;
  if (first === undefined) throw new UsageError('The command is missing: put it after --.');
  return second === undefined ? first : words.map(quoteWord).join(' ');
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Leaves out what was not given, since an explicit undefined is not the same as none. */
export function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
