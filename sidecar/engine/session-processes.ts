import {
  type CommandTraces,
  holdersOf,
  processesOfCommand,
  processesOfSession,
  type SessionTraces,
} from '../processes/command-processes';
import type { ProcessIdentity } from '../processes/identity';
import { asStartTime, findProcess } from '../processes/process-table';
import type { Background } from './background';
import type { Command } from './command';
import type { SessionFiles } from './command-files';
import type { Foreground } from './foreground';
import type { ShellHost } from './shell-host';

/** Finds the processes of a session and of its commands, computed anew for every look. */
export class SessionProcesses {
  constructor(
    private readonly sessionId: string,
    private readonly host: ShellHost,
    private readonly background: Background,
    private readonly files: SessionFiles,
    private readonly foreground: Foreground,
  ) {}

  /** What the session's processes are known by. */
  get traces(): SessionTraces {
    const { since } = this.host;
    const { path: directory, keepers } = this.files.directory;
    return { sessionId: this.sessionId, directory, shell: this.shell, since, keepers };
  }

  /** Everything that belongs to the session. */
  all(): ProcessIdentity[] {
    return processesOfSession(this.traces);
  }

  /** The shell's child under which a slot is in use: the subshell of a background command. */
  subshellOf(fifos: readonly string[]): ProcessIdentity | undefined {
    for (const { pid } of holdersOf(fifos, {
      except: [this.shell, ...this.files.keepers],
      since: this.host.since,
    })) {
      const subshell = this.childAbove(pid);
      if (subshell !== undefined) return subshell;
    }
    return undefined;
  }

  /** `shell` is the one the command runs in: another may have taken its place. */
  of(command: Command, shell = this.shell): ProcessIdentity[] {
    const root = command.request.background ? command.subshell : shell;
    if (root === undefined) return [];
    const traces: CommandTraces = {
      commandId: command.id,
      fifos: command.slot?.paths ?? [],
      root,
      others: [...this.background.subshells, ...this.files.keepers],
      since: this.host.since,
      startedAt: this.foreground.isPast(command) ? undefined : asStartTime(command.startedMonotonic),
    };
    return processesOfCommand(traces);
  }

  /** The present shell, as long as it is not known to have ended. */
  get shell(): ProcessIdentity | undefined {
    return this.host.pid === undefined ? undefined : this.host.identity;
  }

  private childAbove(pid: number): ProcessIdentity | undefined {
    const entry = findProcess(pid);
    if (entry === undefined || entry.parent <= 1) return undefined;
    return entry.parent === this.host.pid ? { pid, startTime: entry.startTime } : this.childAbove(entry.parent);
  }
}
