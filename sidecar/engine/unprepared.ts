import { failure, type LimpetError } from '../../protocol/errors';
import type { Command } from './command';

/** Why a command was not run that could not be given its own directory or environment; `why` is the shell's word for it. */
export function unprepared(why: string, command: Command): LimpetError {
  if (why === '1') return failure.cwdNotFound(command.request.overrides?.cwd ?? '');
  if (why === '3') {
    return failure.invalidParams(
      'In this session a function or a disabled builtin (eval, export, unset, …) keeps a command from having a cwd or env of its own. Take it away, or use a fresh session.',
    );
  }
  // zsh does not get as far as to say so.
  return failure.invalidParams(
    'env names a variable that cannot be set in this session: it may be read-only or an array.',
  );
}
