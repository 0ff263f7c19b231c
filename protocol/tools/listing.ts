import type { CommandSnapshot, SessionInfo } from '../values';
import { brief, duration, outcome } from './report';

const finishedShown = 3;

/** All sessions with what they run: what an agent that lost its context needs. */
export function listing(
  sessions: readonly SessionInfo[],
  commands: readonly CommandSnapshot[],
  workspaceSession: string,
): string {
  if (sessions.length === 0) {
    return `There are no sessions. limpet_run_command makes the session of this workspace, ${workspaceSession}.`;
  }
  const blocks = sessions.map((session) =>
    [
      heading(session, workspaceSession),
      ...commandLines(commands.filter(({ sessionId }) => sessionId === session.sessionId)),
    ].join('\n'),
  );
  return [sessions.length === 1 ? '1 session.' : `${sessions.length} sessions.`, ...blocks].join('\n\n');
}

function heading({ name, sessionId, state, shell, cwd }: SessionInfo, workspaceSession: string): string {
  const isDefault = name === workspaceSession ? ', the session of this workspace' : '';
  return `Session ${name} (${sessionId})${isDefault}: ${state}, ${shell}, in ${cwd}`;
}

function commandLines(commands: readonly CommandSnapshot[]): string[] {
  const open = commands.filter(({ state }) => state !== 'finished');
  const finished = commands.filter(({ state }) => state === 'finished').slice(-finishedShown);
  if (commands.length === 0) return ['  It has run nothing yet.'];
  return [...finished, ...open].map(
    (command) => `  ${command.commandId}  ${state(command)}  ${brief(command.command)}`,
  );
}

function state(command: CommandSnapshot): string {
  const place = command.background ? 'background' : 'foreground';
  if (command.state === 'queued') return `queued by ${command.origin}`;
  if (command.state === 'finished') return `${place}, by ${command.origin}: ${outcome(command)}`;
  const since = duration(Math.max(0, Date.now() - Date.parse(command.startedAt)));
  return `running in the ${place} for ${since}, by ${command.origin}:`;
}
