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
  overloaded: 'Wait for running commands to end, or stop some, and try again.',
  shutting_down: 'Try again in a moment: the next call starts a new sidecar. limpet_list_sessions shows what is there.',
  internal: 'Try again; if it happens again, use another session.',
};

/** A failure in words that say what to do next. */
export function problem(thrown: LimpetError): string {
  const message = inToolWords.reduce((text, [method, tool]) => text.replace(method, tool), thrown.message);
  const takesNoInput = thrown.code === 'not_supported' && /\binteractive\b/.test(message);
  const next = takesNoInput ? 'Start the command anew with interactive: true if it needs input.' : advice[thrown.code];
  return `Error (${thrown.code}): ${message}${next === undefined ? '' : ` ${next}`}`;
}

/** What is wrong with the input of a tool; `schema` is its JSON Schema, which knows what would be right. */
export function invalidInput(error: z.ZodError, schema: Schema): LimpetError {
  const complaints = error.issues.map((issue) => complaint(issue, schema));
  return new LimpetError('invalid_params', `${complaints.join(' ')} Correct the input and call again.`);
}

export interface Schema {
  properties?: Record<string, Schema>;
}

function complaint(issue: z.core.$ZodIssue, schema: Schema): string {
  const name = issue.path.join('.');
  switch (issue.code) {
    case 'unrecognized_keys': {
      const place = issue.path.reduce<Schema | undefined>((at, key) => at?.properties?.[String(key)], schema);
      const known = Object.keys(place?.properties ?? {});
      const unknown = issue.keys.map((key) => JSON.stringify(key)).join(', ');
      const where = name === '' ? 'here' : `in ${name}`;
      return `There is no ${unknown} ${where}; ${known.length === 0 ? 'it takes nothing' : `there are ${known.join(', ')}`}.`;
    }
    case 'invalid_type': {
      const [, received = 'something else'] = /, received (.+)$/.exec(issue.message) ?? [];
      const wanted = `${name || 'The input'} must be of type ${issue.expected}`;
      return received === 'undefined' ? `${name} is missing.` : `${wanted}, not ${received}.`;
    }
    case 'too_small':
      return issue.origin === 'string' ? `${name} must not be empty.` : `${name} must be at least ${issue.minimum}.`;
    case 'too_big':
      return issue.origin === 'string'
        ? `${name} must not be longer than ${issue.maximum} characters.`
        : `${name} must be at most ${issue.maximum}.`;
    default:
      return `${name}: ${issue.message}.`;
  }
}
