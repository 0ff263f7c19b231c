import type { Options } from './command';

/** `limpet run ls -l`: from its first plain word on, the line belongs to the command, even without `--`. */
export function endOptionsAtFirstWord(args: string[], options: Options): string[] {
  const takesValue = (arg: string) => {
    const named = Object.entries(options).find(([name, { short }]) => arg === `--${name}` || arg === `-${short}`);
    return named?.[1].type === 'string';
  };
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (arg === '--') return args;
    if (!arg.startsWith('-') || arg === '-') return [...args.slice(0, at), '--', ...args.slice(at)];
    if (takesValue(arg)) at++;
  }
  return args;
}
