import type { z } from 'zod';
import { LimpetError } from '../errors';

/** The sidecar's messages speak of its methods; a model knows the tools. */
const inToolWords: [RegExp, string][] = [
  [/\b(session|exec)\.list\b/g, 'limpet_list_sessions'],
  [/\bsession\.create\b/g, 'limpet_create_session'],
  [/\bexec\.output\b/g, 'limpet_read_output'],
  [/\bmax_output_bytes\b/g, 'maxTokens'],
  [/\bkeep_stdin_open\b/g, 'interactive'],
];

const advice: Partial<Record<string, string>> = {
  session_limit: 'limpet_list_sessions shows them, limpet_destroy_session ends one.',
  command_finished: 'limpet_wait_for_command gives its result, limpet_read_output its output.',
  not_supported: 'Start the command anew with interactive: true if it needs input.',
  overloaded: 'Wait for running commands to end, or stop some, and try again.',
  shutting_down: 'Try again in a moment: the next call starts a new sidecar. limpet_list_sessions shows what is there.',
  internal: 'Try again; if it happens again, use another session.',
};

/** A failure in words that say what to do next. */
export function problem(thrown: LimpetError): string {
  const message = inToolWords.reduce((text, [method, tool]) => text.replace(method, tool), thrown.message);
  const next = advice[thrown.code];
  return `Error (${thrown.code}): ${message}${next === undefined ? '' : ` ${next}`}`;
}

export function invalidInput(error: z.ZodError): LimpetError {
  const issues = error.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`);
  return new LimpetError('invalid_params', `${issues.join('; ')}. Correct the input and call again.`);
}
