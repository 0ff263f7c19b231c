import type { CommandSnapshot } from '../../protocol/values';

export interface SessionNode {
  readonly kind: 'session';
  readonly sessionId: string;
}

export interface CommandNode {
  readonly kind: 'command';
  readonly sessionId: string;
  readonly commandId: string;
}

export interface MoreNode {
  readonly kind: 'more';
  readonly sessionId: string;
}

/** A line of the Sessions view. The window knows lines by identity, so each is made once. */
export type SessionsNode = SessionNode | CommandNode | MoreNode;

/** What still goes on comes first; then what finished, newest first, up to a page. */
export function pageOf(
  commands: readonly CommandSnapshot[],
  size: number,
): { shown: CommandSnapshot[]; hidden: number } {
  const newestFirst = [...commands].reverse();
  const unfinished = newestFirst.filter(({ state }) => state !== 'finished');
  const finished = newestFirst.filter(({ state }) => state === 'finished');
  return { shown: [...unfinished, ...finished.slice(0, size)], hidden: Math.max(0, finished.length - size) };
}
