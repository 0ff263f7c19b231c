/** Control characters besides tab and line ends, what has no width, and what changes the order of the text around it. */
const hidden =
  /\u034f|[\p{Cc}\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]/gu;

/** Characters a person cannot see in a text they are asked about, by their numbers; they could hide what it does. */
export function hiddenCharacters(text: string): string[] {
  const found = (text.match(hidden) ?? []).filter((character) => !'\t\n\r'.includes(character));
  return [...new Set(found)].map(
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
}
