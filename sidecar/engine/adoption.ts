import type { LogStore } from '../output/log-store';
import type { Slot } from '../output/slot';
import { signalProcess } from '../processes/identity';
import { findProcess } from '../processes/process-table';
import type { Background } from './background';
import type { Command, Ending } from './command';
import { unknownEnd } from './command-end';
import type { SessionFiles } from './command-files';
import type { Foreground } from './foreground';
import type { Publication } from './publication';
import type { SavedCommand } from './saved-session';
import type { SessionProcesses } from './session-processes';

/** What of a session is needed to go on with its commands. */
export interface AdoptingSession {
  readonly cwd: string;
  readonly logs: LogStore;
  readonly files: SessionFiles;
  readonly foreground: Foreground;
  readonly background: Background;
  readonly processes: SessionProcesses;
  readonly publication: Publication;
  /** Does something when the commands before are over. */
  inTurn(work: () => Promise<void>): void;
  queue(command: Command): void;
  awaitForeground(command: Command, slot: Slot): Promise<void>;
  startTimer(command: Command): void;
  interrupt(command: Command, why: 'cancelled' | 'timed_out'): void;
  endInput(command: Command): void;
  endOutput(command: Command): void;
  finish(command: Command, end: Ending): void;
  failUnlessOver(command: Command, error: unknown): void;
  letGo(command: Command, slot: Slot): void;
}

/** Goes on with a command of a sidecar that is gone, wherever that one had got with it. `slot` is the one it still has. */
export function adoptCommand(session: AdoptingSession, command: Command, slot: Slot | undefined, saved: SavedCommand) {
  if (saved.ended !== undefined) adoptEnded(session, command, slot);
  else if (slot !== undefined) adoptRunning(session, command, slot, saved);
  else if (saved.began !== undefined) adoptWithoutSlot(session, command);
  else adoptQueued(session, command, saved);
}

function adoptEnded(session: AdoptingSession, command: Command, slot: Slot | undefined): void {
  session.publication.add(command);
  if (slot === undefined) {
    session.endOutput(command);
    return;
  }
  session.logs.reopen(command.output.log);
  session.letGo(command, slot);
}

/** Whatever became of what it printed to: it was begun, and is not begun again. */
function adoptWithoutSlot({ cwd, finish, endOutput }: AdoptingSession, command: Command): void {
  finish(command, unknownEnd(command, cwd, 'What it printed to is gone, so its end is not known.'));
  endOutput(command);
}

function adoptQueued({ files, endInput, queue }: AdoptingSession, command: Command, saved: SavedCommand): void {
  if (command.request.stdin.kind === 'open') files.keepInputOpen(command);
  if (saved.inputEnded === true) endInput(command);
  queue(command);
}

function adoptRunning(session: AdoptingSession, command: Command, slot: Slot, saved: SavedCommand): void {
  session.logs.reopen(command.output.log);
  // Before anything else: it may have ended of that since.
  command.ending = saved.interrupted;
  if (command.request.stdin.kind === 'open') session.files.resumeInput(command, slot, saved.inputKeeper);
  if (saved.inputEnded === true) session.endInput(command);
  if (command.request.background) {
    const resumed = session.background.resume(command, slot, saved.subshell);
    if (resumed === 'uncertain') inTurn(session, command, () => giveUnlessGiven(session, command, slot));
  } else inTurn(session, command, () => session.awaitForeground(command, slot));
  session.startTimer(command);
  if (saved.interrupted === undefined) return;
  // Whoever was ending it may have stopped its processes, and did not live to continue them.
  for (const stopped of session.processes.all()) {
    if (findProcess(stopped.pid)?.state === 'T') signalProcess(stopped, 'SIGCONT');
  }
  session.interrupt(command, saved.interrupted);
}

/** The sidecar that is gone noted that the command began, and may or may not have told the shell. */
async function giveUnlessGiven({ foreground, background }: AdoptingSession, command: Command, slot: Slot) {
  const isGiven = (await foreground.questions.hasRead(command)) || command.subshell !== undefined;
  if (isGiven) background.lookAfter(command);
  else await background.giveAgain(command, slot);
}

function inTurn(session: AdoptingSession, command: Command, work: () => Promise<void>): void {
  session.inTurn(() => work().catch((error: unknown) => session.failUnlessOver(command, error)));
}
