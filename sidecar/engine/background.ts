import type { Slot } from '../output/slot';
import { holdersOf } from '../processes/command-processes';
import { identify, isAlive } from '../processes/identity';
import type { Command, Ending } from './command';
import { reportedEnd, unknownEnd } from './command-end';
import type { SessionFiles } from './command-files';
import type { ShellHost } from './shell-host';
import { closesSoon, followWhenOpened } from './slots';

/** Output counts as complete when nobody can print any more; one that leaves a server behind is not waited for forever. */
const endGraceMs = 3000;
const reportGraceMs = 500;
const lookMs = 500;

/** Runs commands beside the shell, each in a subshell that has inherited the shell's state. */
export class Background {
  private readonly running = new Map<number, { command: Command; slot: Slot; hasReported: boolean }>();

  constructor(
    private readonly host: ShellHost,
    private readonly files: SessionFiles,
    private readonly onStarted: (command: Command) => void,
    private readonly onEnded: (command: Command, end: Ending, slot: Slot) => void,
  ) {}

  get count(): number {
    return this.running.size;
  }

  /** The subshells of the commands that run. */
  get pids(): number[] {
    return [...this.running.values()].flatMap(({ command: { pid } }) => (pid === undefined ? [] : [pid]));
  }

  /** Starts a command and waits until its subshell is there; the shell is then free for the next. */
  async start(command: Command, slot: Slot): Promise<void> {
    const { host, files } = this;
    await host.ensure();
    const text = files.writeBackground(command, host.dialect.commandText(command.request.text, plain));
    this.running.set(command.number, { command, slot, hasReported: false });
    host.send(
      host.dialect.background({
        number: command.number,
        files: { text, ...files.streams(command, slot) },
        prepared: files.prepare(command, host.dialect),
      }),
    );
    await Promise.race([command.started, command.finished, host.exited]);
    if (command.isFinished) return;
    const stopFollowing = followWhenOpened(slot);
    void command.finished.then(stopFollowing);
    this.lookAfter(command);
  }

  started(number: number, pid: number): void {
    const entry = this.running.get(number);
    if (entry === undefined) return;
    entry.command.pid = pid;
    entry.command.onStarted();
    this.onStarted(entry.command);
  }

  /** It is over when it has reported and nobody prints any more, or soon after. */
  async ended(number: number, status: number): Promise<void> {
    const entry = this.running.get(number);
    if (entry === undefined) return;
    entry.hasReported = true;
    const end = reportedEnd(entry.command, status, this.host.cwd);
    if (!(await closesSoon(entry.slot, endGraceMs))) {
      end.heldOpenBy = holdersOf(entry.slot.paths, { except: undefined, since: this.host.since });
    }
    this.finish(entry.command, end);
  }

  /** It did not report, and will not. */
  abandon(command: Command, note: string): void {
    this.finish(command, unknownEnd(command, this.host.cwd, note));
  }

  private finish(command: Command, end: Ending): void {
    const entry = this.running.get(command.number);
    if (entry === undefined || !this.running.delete(command.number)) return;
    entry.slot.drain();
    this.onEnded(command, end, entry.slot);
  }

  /** The subshell reports how its command ended, unless it is itself killed. */
  private lookAfter(command: Command): void {
    const subshell = command.pid === undefined ? undefined : identify(command.pid);
    const timer = setInterval(() => {
      if (command.isFinished) return clearInterval(timer);
      if (subshell !== undefined && isAlive(subshell)) return;
      clearInterval(timer);
      setTimeout(() => {
        // One that reported before it ended is only waited for until its output is complete.
        if (this.running.get(command.number)?.hasReported !== false) return;
        this.abandon(command, 'It was ended from outside, so its exit code is unknown.');
      }, reportGraceMs).unref();
    }, lookMs);
    timer.unref();
  }
}

const plain = { tracing: false, hasErrorTrap: false };
