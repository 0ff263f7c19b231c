import path from 'node:path';
import type { Context, Invocation, Options } from '../command';
import { text, texts } from '../command';
import { commandText, duration, environment, given } from '../values';

/** The options that `run` and `start` share. */
export const executionOptions = {
  session: { type: 'string', short: 's' },
  timeout: { type: 'string', short: 't' },
  cwd: { type: 'string', short: 'C' },
  env: { type: 'string', short: 'e', multiple: true },
  shell: { type: 'string' },
} satisfies Options;

export const executionUsage = `  -s, --session NAME   session by name or id, made if there is none of that name (default "default")
  -t, --timeout TIME   end the command after 500ms, 30s, 5m, 1h
  -C, --cwd DIR        run it there
  -e, --env NAME=VALUE set for this command; NAME alone passes on your own value
      --shell SHELL    shell of a session that has to be made: bash, zsh, or a path`;

export function readExecution({ cwd, env }: Context, { values, positionals }: Invocation) {
  const chosen = text(values, 'cwd');
  return {
    sessionName: text(values, 'session') ?? 'default',
    // Only a session that has to be made starts in the caller's directory.
    creation: { cwd, ...given({ shell: text(values, 'shell') }) },
    execution: {
      command: commandText(positionals),
      ...given({
        timeoutMs: duration(text(values, 'timeout')),
        cwd: chosen === undefined ? undefined : path.resolve(cwd, chosen),
        env: environment(texts(values, 'env'), env),
      }),
    },
  };
}
