import type { Limits } from '../../protocol/limits';
import type { Command } from './command';
import { PastCommands } from './past-commands';

/** So many that nobody can ask for any more may wait for an idle moment. */
const mostForgotten = 100;

/** The commands of a session that can be asked for, the oldest first. */
export class RememberedCommands {
  private readonly commands = new Map<string, Command>();
  private readonly past: PastCommands;
  private readonly forgotten: Command[] = [];

  constructor(
    private readonly limits: Limits,
    /** What is left of one that is forgotten can go. */
    private readonly onForgotten: (command: Command) => void,
  ) {
    // Twice that, so that the last one is always remembered.
    this.past = new PastCommands(() => this.all(), 2 * limits.maxCommandBytes);
  }

  all(): IterableIterator<Command> {
    return this.commands.values();
  }

  get(commandId: string): Command | undefined {
    return this.commands.get(commandId);
  }

  get count(): number {
    return this.commands.size;
  }

  add(command: Command): void {
    this.commands.set(command.id, command);
  }

  /** It is over, and nobody prints for it any more. */
  ended(command: Command): void {
    this.past.add(command);
  }

  /** Nobody can ask for those any more; what is left of them goes later, when nobody waits for that. */
  forgetOld(notCounted: number): void {
    const most = this.limits.maxRememberedCommands + notCounted;
    if (this.areFew(most)) return;
    for (const command of this.all()) {
      if (this.areFew(most)) break;
      if (!command.isFinished || !command.output.ended) continue;
      this.commands.delete(command.id);
      this.past.remove(command);
      this.forgotten.push(command);
    }
    if (this.forgotten.length > mostForgotten) this.clearForgotten();
  }

  clearForgotten(): void {
    for (const command of this.forgotten.splice(0)) this.onForgotten(command);
  }

  private areFew(most: number): boolean {
    return this.commands.size <= most && !this.past.areTooLong;
  }
}
