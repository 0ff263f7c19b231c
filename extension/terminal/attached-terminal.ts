import * as vscode from 'vscode';
import type { SidecarClient } from '../../client/client';
import { LimpetError } from '../../protocol/errors';
import type { CommandSnapshot, StreamName } from '../../protocol/values';
import { messageOf } from '../message-of';
import { watchCommand } from '../output/watch';
import { RecentIds } from '../recent-ids';
import { shownDirectory } from '../sessions/directory';
import type { SessionsModel } from '../sessions/model';
import { byWhom, duration, ending, noInput, succeeded } from '../sessions/words';
import { LineEditor } from './line-editor';
import { TypedInput } from './typed-input';

const replayedCommands = 20;
/** A command that says nothing for so long may be waiting for the person. */
const hintAfterMs = 1000;
const dim = (text: string) => `\x1b[2m${text}\x1b[22m`;

export interface TerminalOptions {
  sessionId: string;
  model: SessionsModel;
  connect: () => Promise<SidecarClient>;
  /** Commands a person can recall, newest first. */
  history: () => readonly string[];
  onDidOpen: () => void;
  onDidClose: () => void;
}

/** A session as a terminal: what it printed, what it prints, and a prompt to the very same shell. */
export class AttachedTerminal implements vscode.Pseudoterminal {
  readonly #written = new vscode.EventEmitter<string>();
  readonly #closed = new vscode.EventEmitter<number>();
  readonly onDidWrite = this.#written.event;
  readonly onDidClose = this.#closed.event;
  readonly #editor: LineEditor;
  readonly #input: TypedInput;
  readonly #abort = new AbortController();
  readonly #seen = new RecentIds();
  /** Background commands whose end needs no telling any more. */
  readonly #ended = new RecentIds();
  #subscriptions: vscode.Disposable | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** The command that is being shown, and takes what is typed. */
  #running: string | undefined;
  /** Commands whose text is already on the screen, because it was typed there. */
  readonly #own = new Set<string>();
  #submitting: Promise<unknown> | undefined;
  /** The command that is being shown has printed nothing, and nothing was typed to it. */
  #isSilent = true;
  #waiting = 0;
  #column = 0;
  #cwd = '';
  #gone = false;

  constructor(private readonly options: TerminalOptions) {
    const write = (text: string) => this.#write(text);
    this.#editor = new LineEditor(write, options.history);
    this.#input = new TypedInput(write);
  }

  get sessionId(): string {
    return this.options.sessionId;
  }

  open(dimensions: vscode.TerminalDimensions | undefined): void {
    if (dimensions !== undefined) this.setDimensions(dimensions);
    this.options.onDidOpen();
    const { model, sessionId } = this.options;
    this.#cwd = model.session(sessionId)?.cwd ?? '';
    const begun = model.commands(sessionId).filter(({ state }) => state !== 'queued');
    for (const { commandId, state } of begun) {
      this.#seen.add(commandId);
      if (state === 'finished') this.#ended.add(commandId);
    }
    for (const command of begun.filter(({ background }) => !background).slice(-replayedCommands))
      this.#enqueue(command);
    for (const command of begun) if (command.background && command.state === 'running') this.#announce(command);
    this.#turn = this.#turn.then(() => this.#prompt());
    this.#subscriptions = vscode.Disposable.from(
      model.onDidChangeCommand((command) => this.#attend(command)),
      // What began or ended while no sidecar was there to tell it.
      model.onDidList(() => {
        for (const command of model.commands(sessionId)) this.#attend(command);
      }),
      model.onDidLoseSession((session) => {
        if (session.sessionId === sessionId) this.#lose();
      }),
    );
  }

  setDimensions({ columns }: vscode.TerminalDimensions): void {
    this.#editor.columns = Math.max(2, columns);
  }

  handleInput(data: string): void {
    if (this.#gone) {
      this.#closed.fire(0);
      return;
    }
    if (this.#running === undefined) this.#typeAtPrompt(data);
    else void this.#typeToCommand(this.#running, data);
  }

  close(): void {
    this.#abort.abort();
    this.#subscriptions?.dispose();
    this.options.onDidClose();
  }

  #attend(command: CommandSnapshot): void {
    if (command.sessionId !== this.options.sessionId || command.state === 'queued') return;
    const { commandId } = command;
    const isNew = !this.#seen.has(commandId);
    const hasEnded = command.state === 'finished' && !this.#ended.has(commandId);
    if (!command.background && isNew) this.#enqueue(command);
    if (command.background && (isNew || hasEnded)) this.#announce(command);
    this.#seen.add(commandId);
    if (hasEnded) this.#ended.add(commandId);
  }

  #enqueue(command: CommandSnapshot): void {
    this.#waiting++;
    this.#turn = this.#turn.then(async () => {
      this.#waiting--;
      await this.#submitting;
      await this.#show(command);
      this.#prompt();
    });
  }

  async #show(command: CommandSnapshot): Promise<void> {
    if (this.#abort.signal.aborted) return;
    this.#editor.hide();
    if (!this.#own.delete(command.commandId)) this.#echo(command);
    this.#running = command.commandId;
    this.#isSilent = true;
    const ended = new AbortController();
    const hint = setTimeout(() => void this.#hintAtInput(command.commandId, ended.signal), hintAfterMs);
    try {
      const result = await watchCommand(
        this.options.connect,
        {
          text: (stream, text) => this.#print(stream, text),
          skipped: () =>
            this.#note(vscode.l10n.t('Some output is left out here. All of it: {0}', command.logPath ?? '')),
        },
        { commandId: command.commandId, signal: this.#abort.signal },
      );
      if (result === undefined) return;
      this.#cwd = result.cwd || this.#cwd;
      if (!succeeded(result)) this.#note(`✘ ${ending(result)} · ${duration(result.durationMs ?? 0)}`);
      for (const note of result.notes ?? []) this.#note(note);
    } catch (thrown) {
      this.#note(messageOf(thrown));
    } finally {
      clearTimeout(hint);
      ended.abort();
      this.#running = undefined;
      this.#input.clear();
    }
  }

  /** Tools that read their input when it is no terminal, as rg without a path does, would seem to hang. */
  async #hintAtInput(commandId: string, signal: AbortSignal): Promise<void> {
    if (!this.#isSilent) return;
    try {
      const client = await this.options.connect();
      const { met } = await client.request('exec.wait', { commandId, until: [{ input: true }] }, { signal });
      if (met !== 'input' || !this.#isSilent || signal.aborted) return;
      this.#note(vscode.l10n.t('It waits for input: type it, or press Ctrl-D to end it.'));
    } catch {
      // The command has ended.
    }
  }

  #echo({ command, origin }: CommandSnapshot): void {
    const who = byWhom(origin);
    const text = command.trimEnd().replaceAll('\n', '\r\n');
    this.#write(`\x1b[1m$ ${text}\x1b[22m${who === undefined ? '' : dim(`    # ${who}`)}\r\n`);
  }

  #announce(command: CommandSnapshot): void {
    const number = command.commandId.slice(command.commandId.lastIndexOf(':') + 1);
    const atPrompt = this.#running === undefined;
    if (atPrompt) this.#editor.hide();
    this.#note(
      command.state === 'finished'
        ? `[${number}] ${ending(command)} · ${duration(command.durationMs ?? 0)}: ${command.command}`
        : vscode.l10n.t('[{0}] in background: {1}', number, command.command),
    );
    if (atPrompt) this.#prompt();
  }

  #typeAtPrompt(data: string): void {
    for (const edit of this.#editor.take(data)) {
      if (edit.kind === 'end') this.#closed.fire(0);
      else if (edit.kind === 'interrupt' || edit.line.trim() === '') this.#prompt();
      else this.#submit(edit.line, edit.shown);
    }
  }

  #submit(line: string, shown: boolean): void {
    const { connect, sessionId } = this.options;
    const start = async () => {
      const client = await connect();
      const { commandId } = await client.request('exec.start', {
        sessionId,
        command: line,
        keepStdinOpen: true,
        origin: 'person',
        maxOutputBytes: 4096,
      });
      if (shown) this.#own.add(commandId);
    };
    const before = this.#submitting;
    const started = Promise.resolve(before)
      .then(start)
      .catch((thrown: unknown) => {
        this.#note(messageOf(thrown));
        this.#prompt();
      })
      .finally(() => {
        if (this.#submitting === started) this.#submitting = undefined;
      });
    this.#submitting = started;
  }

  async #typeToCommand(commandId: string, data: string): Promise<void> {
    this.#isSilent = false;
    for (const typed of this.#input.take(data)) {
      try {
        const client = await this.options.connect();
        if (typed.kind === 'interrupt') await client.request('exec.cancel', { commandId });
        else if (typed.kind === 'end') await client.request('exec.input', { commandId, eof: true });
        else await client.request('exec.input', { commandId, data: typed.text });
      } catch (thrown) {
        // The command may have ended while the person typed.
        if (this.#running !== commandId) return;
        const takesNone = thrown instanceof LimpetError && thrown.code === 'not_supported';
        this.#note(takesNone ? noInput() : messageOf(thrown));
      }
    }
  }

  #prompt(): void {
    if (this.#abort.signal.aborted || this.#running !== undefined || this.#waiting > 0 || this.#gone) return;
    const directory = shownDirectory(this.#cwd);
    if (this.#column > 0) this.#write('\r\n');
    this.#editor.show(`\x1b[36m${directory}\x1b[39m $ `, directory.length + 3);
  }

  #lose(): void {
    this.#gone = true;
    this.#editor.hide();
    this.#note(vscode.l10n.t('The session has ended. Press any key to close this terminal.'));
  }

  #print(stream: StreamName, text: string): void {
    this.#isSilent = false;
    const lines = text.replace(/\r?\n/g, '\r\n');
    this.#write(stream === 'stderr' && !lines.includes('\x1b') ? `\x1b[31m${lines}\x1b[39m` : lines);
  }

  #note(text: string): void {
    this.#write(`${this.#column > 0 ? '\r\n' : ''}${dim(text)}\r\n`);
  }

  #write(text: string): void {
    if (text === '') return;
    // Only whether a line is unfinished matters; colour codes at its end do not count.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are spoken to in control characters
    const shown = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
    if (shown !== '') this.#column = shown.endsWith('\n') || shown.endsWith('\r') ? 0 : 1;
    this.#written.fire(text);
  }
}
