/** Words in a command that may end the shell, or change what the trap needs that would take a snapshot then. */
export const mayEndShell = /\b(exit|exec|kill|pkill|killall|logout|return|set|setopt|trap|ulimit)\b/;
export const changesExit = /\b(trap|set|shift|eval|source|enable|disable)\b|(^|[\s;&|({])\\?\.(\s|\()/;
/** Words with which a user can make a builtin behave otherwise in a file than without one. */
export const forbidsInline =
  /\b(trap|eval|source|function|alias|shopt|enable|BASH_ALIASES)\b|\(\s*\)|(^|[\s;&|({])\\?\.\s/;
/** Words after which the shell may be unable to open the streams of its commands. */
export const mayForbidOpening = /\bulimit\b|\brestricted\b|\bset\s+-\w*r/;
/** Words with which a user can set a trap. */
export const setsTrap = /\b(trap|eval|source)\b|(^|[\s;&|({])\\?\.\s/;
/** Words of a command that sets one on the shell's exit, and none that runs for the wrapper's lines. */
export const setsExitTrap = (text: string) => /\btrap\b[\s\S]*\bEXIT\b/.test(text) && !/\b(DEBUG|RETURN)\b/.test(text);

/** Descriptors with more than one digit that an `exec` in a command opens or closes; shells use such ones themselves. */
export function descriptorsNamed(text: string): number[] {
  if (!text.includes('exec')) return [];
  const named = [...text.matchAll(/\bexec\b[^\n;|]*/g)].flatMap(([exec]) =>
    [...exec.matchAll(/(?<![\w$&])[1-9]\d{1,2}(?=[<>])/g)].map(([number]) => Number(number)),
  );
  return [...new Set(named)];
}
