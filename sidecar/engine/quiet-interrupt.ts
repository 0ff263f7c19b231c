import { constants } from 'node:os';
import { identify, type ProcessIdentity } from '../processes/identity';
import { dispositionOf, endingSignalOf, findProcess, programOf } from '../processes/process-table';
import type { Command } from './command';

const interrupt = constants.signals.SIGINT;
/** What handles an interrupt itself mostly ends of it soon after. */
const patienceMs = 500;

/**
 * zsh, and each of its subshells, prints a newline among the command's output when a program it waits for dies of an
 * interrupt. What would die of one without noticing is killed instead, which zsh says nothing about. What handles the
 * interrupt is waited for while zsh is held: if it dies of it in the end, the newline that zsh then prints is left out.
 */
export class QuietInterrupt {
  private handling: ProcessIdentity[] = [];
  private deadline = 0;

  constructor(
    private readonly command: Command,
    private readonly shell: number,
  ) {}

  /** The signal for one of the command's processes. */
  signalFor({ pid, startTime }: ProcessIdentity): NodeJS.Signals {
    const parent = this.shellAbove(pid);
    if (parent === undefined) return 'SIGINT';
    const disposition = dispositionOf(pid, interrupt);
    // A shell blocks interrupts while it waits; it would print its newline first and die then.
    if (disposition === 'default' || (disposition === 'blocked' && this.isShell(pid))) {
      this.command.isKilledForInterrupt = true;
      return 'SIGKILL';
    }
    if (disposition === 'caught' && parent === this.shell) {
      if (this.handling.length === 0) this.deadline = performance.now() + patienceMs;
      this.handling.push({ pid, startTime });
    }
    return 'SIGINT';
  }

  /** Whether zsh must not go on yet. As long as it does not, nothing it started is gone before it can be looked at. */
  get mustWait(): boolean {
    const isOver = ({ pid, startTime }: ProcessIdentity) =>
      identify(pid)?.startTime !== startTime || findProcess(pid)?.state === 'Z';
    if (!this.handling.every(isOver) && performance.now() < this.deadline) return true;
    if (this.handling.some(({ pid }) => endingSignalOf(pid) === interrupt)) this.command.slot?.leaveOutNewline();
    this.handling = [];
    return false;
  }

  /** The shell or subshell that waits for a process, if it is one of the session's. */
  private shellAbove(pid: number): number | undefined {
    const parent = findProcess(pid)?.parent;
    for (let above = parent; above !== this.shell; above = findProcess(above)?.parent) {
      if (above === undefined || !this.isShell(above)) return undefined;
    }
    return parent;
  }

  private isShell(pid: number): boolean {
    return programOf(pid) === programOf(this.shell);
  }
}
