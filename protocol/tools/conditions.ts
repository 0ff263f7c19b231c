import type { WaitCondition } from '../values';

export interface Conditions {
  output?: string | undefined;
  port?: number | undefined;
  file?: string | undefined;
  silenceMs?: number | undefined;
  input?: boolean | undefined;
}

/** The command's own end always ends a wait. */
export function conditionsOf({ output, port, file, silenceMs, input }: Conditions): WaitCondition[] {
  return [
    { exit: true },
    ...(output === undefined ? [] : [{ output }]),
    ...(port === undefined ? [] : [{ port }]),
    ...(file === undefined ? [] : [{ file }]),
    ...(silenceMs === undefined ? [] : [{ silenceMs }]),
    ...(input === true ? [{ input: true as const }] : []),
  ];
}

/** How a wait ended, for one that had conditions of its own. */
export function metIn(met: string): string {
  const words: Partial<Record<string, string>> = {
    output: 'Its output matches.',
    port: 'The port accepts connections.',
    file: 'The file exists.',
    silence_ms: 'It has been silent.',
    timeout: 'The condition does not hold yet.',
    exit: 'It ended before the condition held.',
  };
  return words[met] ?? '';
}
