/** Words in a command that may end the shell, or change what the trap needs that would take a snapshot then. */
export const mayEndShell = /\b(exit|exec|kill|pkill|killall|logout|return|set|setopt|trap|ulimit)\b/;
export const changesExit = /\b(trap|set|shift|eval|source)\b|(^|[\s;&|({])\\?\.(\s|\()/;
/** Words with which a user can make a builtin behave otherwise in a file than without one. */
export const forbidsInline =
  /\b(trap|eval|source|function|alias|shopt|enable|BASH_ALIASES)\b|\(\s*\)|(^|[\s;&|({])\\?\.\s/;
/** Words after which the shell may be unable to open the streams of its commands. */
export const mayForbidOpening = /\bulimit\b|\brestricted\b|\bset\s+-\w*r/;
export const setsErrorTrap = /\btrap\b[^\n]*\bERR\b/;

/** Descriptors with more than one digit that an `exec` in a command opens or closes; shells use such ones themselves. */
export function descriptorsNamed(text: string): number[] {
  if (!text.includes('exec')) return [];
  const named = [...text.matchAll(/\bexec\b[^\n;|]*/g)].flatMap(([exec]) =>
    [...exec.matchAll(/(?<![\w$&])[1-9]\d{1,2}(?=[<>])/g)].map(([number]) => Number(number)),
  );
  return [...new Set(named)];
}
