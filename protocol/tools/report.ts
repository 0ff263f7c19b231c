import type { CommandSnapshot } from '../values';
import type { Shown } from './output';

/** A command as the reports need it: a snapshot, with its result's fields once it has finished. */
export type Reported = CommandSnapshot;

export interface ReportedSession {
  name: string;
  cwd: string;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A command's text on one line. */
export function brief(command: string, width = 100): string {
  const flat = command.trim().replace(/\s+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, width - 1)}…`;
}

/** The first line: what became of the command. `ahead` is the one that a queued command waits for. */
export function outcome(command: Reported, ahead?: Reported): string {
  if (command.state === 'queued') {
    const busyWith = ahead === undefined ? 'an earlier command' : `${ahead.commandId} (${brief(ahead.command)})`;
    return `Queued: the session is still busy with ${busyWith}.`;
  }
  if (command.state === 'running') return running(command);
  const took = `after ${duration(command.durationMs ?? 0)}`;
  const code = command.exitCode ?? undefined;
  const exit = code === undefined ? 'Exit code unknown' : `Exit code ${code}`;
  switch (command.outcome) {
    case 'timed_out':
      return `Timed out ${took} and was stopped. The session lives on.`;
    case 'cancelled':
      return `Stopped ${took}. The session lives on.`;
    case 'signaled':
      return `Ended by ${command.signal ?? 'a signal'} ${took}.`;
    case 'shell_exited':
      return `${exit} ${took}. The command ended the shell.`;
    default:
      return `${exit} ${took}.`;
  }
}

function running({ startedAt, background, activity }: Reported): string {
  const place = background ? ' in the background' : '';
  const doing = activity?.kind === 'waiting_for_input' ? ' It waits for input.' : '';
  return `Still running${place} after ${duration(Math.max(0, Date.now() - Date.parse(startedAt)))}.${doing}`;
}

/** Session, directory and command id on one line. */
export function identity(command: Reported, session: ReportedSession): string {
  return `Session ${session.name}, in ${command.cwd ?? session.cwd}. Command ${command.commandId}.`;
}

/** Both streams, labelled; empty ones are said to be empty. */
export function streams(shown: readonly Shown[], commandId: string, isFinished: boolean): string {
  if (shown.every(({ head, cut }) => head === '' && cut === undefined)) {
    return isFinished ? 'It printed nothing on stdout and stderr.' : 'It has printed nothing on stdout and stderr yet.';
  }
  return shown.map((stream) => labelled(stream, commandId, isFinished)).join('\n\n');
}

function labelled({ stream, head, cut, endsWithNewline }: Shown, commandId: string, isFinished: boolean): string {
  if (head === '' && cut === undefined) return `${stream}: empty`;
  const soFar = isFinished ? '' : ' so far';
  const unended = isFinished && !endsWithNewline ? ' (no newline at the end)' : '';
  const text = cut === undefined ? head : `${withNewline(head)}${gap(stream, cut, commandId)}\n${cut.tail}`;
  return `${stream}${soFar}${unended}:\n${withoutNewline(text)}`;
}

function gap(stream: string, { missingBytes, cursor }: NonNullable<Shown['cut']>, commandId: string): string {
  const call = toolCall('limpet_read_output', { commandId, stream, cursor });
  return `[${missingBytes} bytes left out here. To read on from here: ${call}]`;
}

const withNewline = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
export const withoutNewline = (text: string) => (text.endsWith('\n') ? text.slice(0, -1) : text);

/** A call as a model would make it. */
export const toolCall = (name: string, input: object) => `${name} ${JSON.stringify(input)}`;

/** What else there is to know about a finished command. */
export function remarks({ outcome: ended, notes = [], heldOpenBy = [] }: Reported): string[] {
  const wasStopped = ended === 'cancelled' || ended === 'timed_out';
  // Whoever had it stopped expects no exit code.
  const worthTelling = notes.filter((note) => !(wasStopped && /\bexit code is unknown\b/.test(note)));
  const holders = heldOpenBy.map(
    ({ pid, command }) => `Process ${pid} (${command}) goes on and holds its output open.`,
  );
  return [...worthTelling, ...holders];
}

/** What to do about a command that has not ended. */
export function nextSteps({ commandId, activity, state }: Reported, ahead?: Reported): string {
  const wait = `${toolCall('limpet_wait_for_command', { commandId })} waits for its end`;
  const stop = `${toolCall('limpet_stop_command', { commandId })} stops it`;
  if (state === 'queued') {
    const makeWay =
      ahead === undefined
        ? ''
        : ` If the one before it hangs: ${toolCall('limpet_stop_command', { commandId: ahead.commandId })}.`;
    return `It runs when its turn comes: ${wait}, ${stop}.${makeWay} Another session runs commands at once.`;
  }
  if (activity?.kind === 'waiting_for_input') {
    return `${toolCall('limpet_send_input', { commandId, text: '…\n' })} answers it, ${stop}.`;
  }
  return `It goes on: ${wait}, ${stop}.`;
}

/** Parts of a report, the empty ones left out. */
export const paragraphs = (...parts: string[]) => parts.filter((part) => part !== '').join('\n\n');
