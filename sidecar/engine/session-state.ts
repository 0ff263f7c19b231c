import type { SessionState } from '../../protocol/values';

const allowed: Record<SessionState, readonly SessionState[]> = {
  creating: ['idle', 'terminated'],
  idle: ['running', 'terminated'],
  running: ['idle', 'terminated'],
  terminated: [],
};

/** The only way from one state to another. */
export function transition(from: SessionState, to: SessionState): SessionState {
  if (!allowed[from].includes(to)) throw new Error(`a session cannot go from ${from} to ${to}`);
  return to;
}
