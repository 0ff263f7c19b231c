import type { ParseArgsConfig } from 'node:util';
import type { SidecarClient } from '../client/client';
import type { Screen } from './screen';

export type Options = NonNullable<ParseArgsConfig['options']>;
export type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** What a command gets from the program around it. */
export interface Context {
  readonly screen: Screen;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly sidecarPath: string;
  /** Connects to the sidecar, started if `start` is not false. The connection is closed when the command ends. */
  connect(options?: { start?: boolean }): Promise<SidecarClient>;
}

export interface Invocation {
  values: Values;
  positionals: string[];
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The lines of --help below the first. */
  readonly usage: string;
  readonly options: Options;
  /** Its words are a command of their own, with options that are not ours. */
  readonly takesCommand?: true;
  /** Answers with the exit code. */
  run(context: Context, invocation: Invocation): Promise<number>;
}

/** The caller used the command wrongly: exit code 64 and a pointer to --help. */
export class UsageError extends Error {}

export const text = (values: Values, name: string): string | undefined => {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
};

export const isOn = (values: Values, name: string): boolean => values[name] === true;

export const texts = (values: Values, name: string): string[] => {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : [];
};

/** Exactly one argument of the given meaning. */
export function only(positionals: string[], meaning: string): string {
  const [first, second] = positionals;
  if (first === undefined) throw new UsageError(`${meaning} is missing.`);
  if (second !== undefined) throw new UsageError(`One ${meaning} is enough: ${JSON.stringify(second)} is too much.`);
  return first;
}
