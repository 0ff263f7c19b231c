/**
 * What chains, redirects, substitutes or expands: with any of it a command is more than its words say. Neither do words
 * that only look like those of a rule count, so anything beyond plain ASCII is asked about.
 */
const beyondWords = /[;&|<>`$(){}[\]*?~!#\\'"=^%]|[^\t\x20-\x7e]/;

/** Whether a rule such as "npm test" covers a command: one plain command that begins with the rule's words. */
export function isAllowed(command: string, rules: readonly string[]): boolean {
  if (beyondWords.test(command)) return false;
  const words = wordsOf(command);
  return rules.map(wordsOf).some((rule) => rule.length > 0 && rule.every((word, at) => words[at] === word));
}

const wordsOf = (text: string) =>
  text
    .trim()
    .split(/[\t ]+/)
    .filter((word) => word !== '');
