import { readFileSync } from 'node:fs';

/**
 * The file in which a session's processes note how they ended, for a sidecar that was not there to be told: a line
 * `NUMBER STATUS` for a background command, `F NUMBER WHY` before that for one that was not run because it could not be given
 * its own directory or environment, and `X PID STATUS` for a shell that could still write one.
 */
const isLine = /^([FX] )?\d+ \d{1,3}$/;

function lines(path: string): string[][] {
  try {
    const text = readFileSync(path, 'utf8');
    // What comes after the last newline was never completely written.
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => isLine.test(line))
      .map((line) => line.split(' '));
  } catch {
    return [];
  }
}

/** How a shell ended by its own account. */
export function notedExit(path: string, pid: number): number | null {
  const line = lines(path).findLast(([kind, noted]) => kind === 'X' && noted === `${pid}`);
  return line?.[2] === undefined ? null : Number(line[2]);
}

/** Why a background command was not run after all, if it was not. */
export function notedRefusal(path: string, number: number): string | undefined {
  return lines(path).findLast(([kind, noted]) => kind === 'F' && noted === `${number}`)?.[2];
}

/** How a background command ended, if it has. */
export function notedStatus(path: string, number: number): number | undefined {
  const line = lines(path).findLast(([noted]) => noted === `${number}`);
  return line?.[1] === undefined ? undefined : Number(line[1]);
}
