import { dirname } from 'node:path';
import * as vscode from 'vscode';
import type { SidecarClient } from '../../client/client';
import type { CommandSnapshot, SessionInfo } from '../../protocol/values';
import { outputLanguageId } from '../contributions';
import { messageOf } from '../message-of';
import { RecentIds } from '../recent-ids';
import { Transcript } from './transcript';
import { watchCommand } from './watch';

const flushEveryMs = 50;
const replayedCommands = 30;
const maxChannelChars = 8 * 1024 * 1024;

/** The output channel of one session: every command with its output as it appears, and how it ended. */
export class SessionChannel implements vscode.Disposable {
  readonly channel: vscode.OutputChannel;
  readonly #transcript = new Transcript();
  readonly #shown = new RecentIds();
  readonly #abort = new AbortController();
  #turn: Promise<void> = Promise.resolve();
  #written = 0;
  #timer: NodeJS.Timeout | undefined;
  #logFolder = '';

  constructor(
    readonly session: SessionInfo,
    private readonly connect: () => Promise<SidecarClient>,
  ) {
    this.channel = vscode.window.createOutputChannel(`Limpet: ${session.name}`, outputLanguageId);
  }

  /** What ran before this window looked. */
  replay(commands: readonly CommandSnapshot[]): void {
    const begun = commands.filter(({ state, commandId }) => state !== 'queued' && !this.#shown.has(commandId));
    const earlier = begun.slice(0, -replayedCommands);
    for (const { commandId } of earlier) this.#shown.add(commandId);
    const log = earlier.at(-1)?.logPath;
    if (log !== undefined && this.#written === 0) {
      this.#transcript.note(vscode.l10n.t('Earlier commands are in the logs in {0}', dirname(log)));
    }
    for (const command of begun.slice(-replayedCommands)) this.show(command);
  }

  show(command: CommandSnapshot): void {
    if (command.state === 'queued' || this.#shown.has(command.commandId)) return;
    this.#shown.add(command.commandId);
    if (command.logPath !== undefined) this.#logFolder = dirname(command.logPath);
    if (command.background) void this.#watch(command);
    // The session runs them one after the other, and so they are shown.
    else this.#turn = this.#turn.then(() => this.#watch(command));
  }

  note(text: string): void {
    this.#transcript.note(text);
    this.#flushSoon();
  }

  dispose(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
    this.channel.dispose();
  }

  async #watch(command: CommandSnapshot): Promise<void> {
    if (this.#abort.signal.aborted) return;
    this.#transcript.command(command);
    this.#flushSoon();
    const known = whollyKnown(command);
    if (known !== undefined) {
      this.#transcript.output(command, known.stream, known.text);
      this.#transcript.end(command, command);
      this.#flushSoon();
      return;
    }
    let hinted = false;
    try {
      const result = await watchCommand(
        this.connect,
        {
          text: (stream, text) => {
            this.#transcript.output(command, stream, text);
            this.#flushSoon();
          },
          skipped: () => {
            const log = hinted ? '' : ` ${vscode.l10n.t('All of it: {0}', command.logPath ?? '')}`;
            hinted = true;
            this.#transcript.note(`${vscode.l10n.t('Some output is left out here.')}${log}`);
          },
        },
        { commandId: command.commandId, signal: this.#abort.signal },
      );
      if (result === undefined) return;
      this.#transcript.end(command, result);
    } catch (thrown) {
      this.#transcript.note(messageOf(thrown));
    }
    this.#flushSoon();
  }

  /** The first piece at once, what follows it in bundles. */
  #flushSoon(): void {
    if (this.#timer !== undefined) return;
    this.#flush();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#flush()) this.#flushSoon();
    }, flushEveryMs);
  }

  #flush(): boolean {
    const text = this.#transcript.take();
    if (text === '' || this.#abort.signal.aborted) return false;
    this.#written += text.length;
    if (this.#written > maxChannelChars) {
      const note = vscode.l10n.t('Earlier output was removed here; the logs in {0} have it.', this.#logFolder);
      this.channel.replace(`… ${note}\n${text}`);
      this.#written = text.length;
    } else this.channel.append(text);
    return true;
  }
}

/** A command that has ended and printed little says all of it in its snapshot; two streams would lose their order. */
function whollyKnown({ state, stdout, stderr, encoding, truncated }: CommandSnapshot) {
  if (state !== 'finished' || stdout === undefined || stderr === undefined) return undefined;
  if (encoding?.stdout !== 'utf8' || encoding.stderr !== 'utf8' || truncated?.stdout || truncated?.stderr)
    return undefined;
  if (stderr === '') return { stream: 'stdout', text: stdout } as const;
  return stdout === '' ? ({ stream: 'stderr', text: stderr } as const) : undefined;
}
