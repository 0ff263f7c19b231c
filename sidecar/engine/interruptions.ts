import type { SignalName } from '../../protocol/values';
import type { Background } from './background';
import type { Command } from './command';
import type { Foreground } from './foreground';
import { endBackground, endForeground } from './interruption';
import type { SessionProcesses } from './session-processes';
import type { ShellHost } from './shell-host';

const againMs = 1000;

interface Parts {
  host: ShellHost;
  foreground: Foreground;
  background: Background;
  processes: SessionProcesses;
}

interface Circumstances {
  /** The session is destroyed, or another sidecar's. */
  isOver(): boolean;
  /** It is about to be ended, which the next sidecar must know. */
  begun(command: Command): void;
  /** Nobody waits who could be told, and ask again. */
  failed(error: unknown): void;
}

/** Ends commands that run: when they are cancelled, and when their time is up. */
export class Interruptions {
  constructor(
    private readonly parts: Parts,
    private readonly defaultTimeoutMs: number | undefined,
    private readonly circumstances: Circumstances,
  ) {}

  /** Resolves when it is gone, or when everything was tried. */
  async end(command: Command, why: 'cancelled' | 'timed_out', signal?: SignalName): Promise<void> {
    // What was left to another sidecar is that one's to end: a time-out that comes now comes there too.
    if (command.isFinished || this.circumstances.isOver()) return;
    command.ending ??= why;
    if (command.interruption === undefined) {
      this.circumstances.begun(command);
      command.interruption = this.carryOut(command, signal).catch((error: unknown) => {
        // Whoever asks again, tries again.
        command.interruption = undefined;
        throw error;
      });
    }
    await command.interruption;
  }

  /** As that, where nobody waits for it. */
  endUnasked(command: Command, why: 'cancelled' | 'timed_out'): void {
    this.end(command, why).catch((error: unknown) => {
      this.circumstances.failed(error);
      setTimeout(() => this.endUnasked(command, why), againMs).unref();
    });
  }

  /** Ends a command when its time is up. */
  startTimer(command: Command): void {
    const ms = command.request.timeoutMs ?? this.defaultTimeoutMs;
    if (ms === undefined) return;
    const left = Math.max(0, ms - (performance.now() - command.startedMonotonic));
    const timer = setTimeout(() => this.endUnasked(command, 'timed_out'), left);
    void command.finished.then(() => clearTimeout(timer));
  }

  private async carryOut(command: Command, signal: SignalName | undefined): Promise<void> {
    const { host, foreground, background, processes: all } = this.parts;
    const { shell } = all;
    const processes = () => (this.circumstances.isOver() ? [] : all.of(command, shell));
    if (command.request.background) {
      await endBackground(command, signal, processes);
      // Otherwise it is another sidecar's by now, or nobody's.
      return this.circumstances.isOver() ? undefined : background.giveUpOn(command);
    }
    // Then it is not given to the shell any more.
    if (foreground.isPreparing(command)) return command.finished;
    await endForeground(command, signal, {
      shell: host,
      processes,
      isPast: () => {
        foreground.catchUp();
        return foreground.isPast(command);
      },
      reportAgain: () => foreground.reportAgain(command),
    });
  }
}
