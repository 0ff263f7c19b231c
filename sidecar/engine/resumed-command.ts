import { CommandOutput, type OutputNotes } from '../output/command-output';
import type { LogStore } from '../output/log-store';
import { resumeLog } from '../output/resume-log';
import { Command, type CommandRequest, type Ending } from './command';
import type { SavedEnding, SavedRequest } from './journal-records';
import type { SavedCommand } from './saved-session';
import { fromMonotonic } from './session-journal';

/** Makes a command anew from what its journal and its log tell. */
export function resumedCommand(saved: SavedCommand, sessionId: string, logs: LogStore, notes: OutputNotes): Command {
  const { number, began, ended, dropped, chunks, totals } = saved;
  const log = logs.create(sessionId, number);
  const output = new CommandOutput(log, saved.request.maxOutputBytes, notes);
  const command = new Command(sessionId, number, requestOf(saved.request), output);
  command.subshell = saved.subshell;
  command.earlyInput = saved.earlyInput;
  command.inputKeeper = saved.inputKeeper;
  command.ending = saved.interrupted;
  command.isBereft = saved.isBereft === true;
  if (began === undefined && ended === undefined) return command;
  if (dropped !== undefined) {
    output.index.resumeAt(dropped.first, { stdout: dropped.stdout, stderr: dropped.stderr }, dropped.logStart);
    output.bytes.stdout += dropped.stdout;
    output.bytes.stderr += dropped.stderr;
  }
  const { isThere, size, pieces, isForeign } = resumeLog(log.path, chunks.at(-1)?.logEnd ?? dropped?.logStart ?? 0);
  output.resume(chunks, pieces);
  log.resume(
    isThere,
    size,
    totals?.stopped ?? (isForeign ? 'somebody changed it while no sidecar was there' : undefined),
  );
  if (totals !== undefined) {
    // What it left behind may have printed since.
    output.bytes.stdout = Math.max(output.bytes.stdout, totals.stdout);
    output.bytes.stderr = Math.max(output.bytes.stderr, totals.stderr);
    output.unlogged = totals.unlogged;
  }
  if (began !== undefined) command.resume(began.startedAt, fromMonotonic(began.monotonic));
  if (ended !== undefined) {
    const { end, startedAt, tookMs } = ended;
    command.resumeEnded(endingOf(end), startedAt, tookMs);
  }
  return command;
}

function requestOf({ overrides, timeoutMs, ...rest }: SavedRequest): CommandRequest {
  if (overrides === undefined) return { ...rest, overrides, timeoutMs };
  const { cwd, env } = overrides;
  return { ...rest, overrides: cwd === undefined ? { env } : { cwd, env }, timeoutMs };
}

function endingOf({ heldOpenBy, ...end }: SavedEnding): Ending {
  return heldOpenBy === undefined ? end : { ...end, heldOpenBy };
}
