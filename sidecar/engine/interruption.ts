import type { SignalName } from '../../protocol/values';
import { type CommandTraces, processesOfCommand } from '../processes/command-processes';
import { climb, ladderFrom } from '../processes/kill-ladder';
import { asStartTime } from '../processes/process-table';
import type { Command } from './command';
import type { ShellProcess } from './shell-process';

export interface Interruptible {
  shell: ShellProcess;
  /** Sends the reporting line once more, in case a signal swallowed it. */
  reportAgain: () => void;
}

const afterKillMs = 1000;

/** Ends one command and nothing else; only what ignores every signal costs the session its shell. */
export async function endCommand(
  command: Command,
  signal: SignalName | undefined,
  { shell, reportAgain }: Interruptible,
): Promise<void> {
  const ended = () => command.isFinished;
  const pause = (ms: number) => pauseUntil(command.finished, ms);
  const isForeground = !command.request.background;
  const root = isForeground ? shell.pid : command.pid;
  if (root === undefined) return;
  const done = await climb({
    // Shells make background commands ignore an interrupt, so there it would only cost time.
    rungs: ladderFrom(signal ?? (isForeground ? undefined : 'SIGTERM')),
    processes: () => processesOfCommand(tracesOf(command, root)),
    ended,
    pause,
    nudge() {
      // The shell itself only ever gets an interrupt: that ends what it runs and keeps its state.
      if (!isForeground) return;
      shell.signal('SIGINT');
      reportAgain();
    },
  });
  if (done) return;
  if (isForeground) shell.signal('SIGKILL');
  await pause(afterKillMs);
}

/** What a command's processes are known by. */
export function tracesOf(command: Command, root: number): CommandTraces {
  return {
    commandId: command.id,
    fifos: command.slot?.paths ?? [],
    root,
    startedAt: asStartTime(command.startedMonotonic),
  };
}

async function pauseUntil(done: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, elapsed]);
  clearTimeout(timer);
}
