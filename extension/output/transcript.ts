import * as vscode from 'vscode';
import type { CommandSnapshot, StreamName } from '../../protocol/values';
import { byWhom, duration, ending, succeeded } from '../sessions/words';
import { PlainText } from './plain-text';

/** The marks that the grammar in syntaxes/ colours. */
export const marks = { command: '$ ', stderr: '┃ ', ok: '✔ ', failed: '✘ ', note: '… ' } as const;

interface Voice {
  stdout: PlainText;
  stderr: PlainText;
}

/** Turns what several commands print at once into lines that stay apart. */
export class Transcript {
  readonly #voices = new Map<string, Voice>();
  #text = '';
  /** Whose line is not ended yet. */
  #open: string | undefined;

  command(command: CommandSnapshot): void {
    const [first = '', ...more] = command.command.trimEnd().split('\n');
    const who = byWhom(command.origin);
    this.#line(`${label(command)}${marks.command}${first}${who === undefined ? '' : `    # ${who}`}`);
    for (const line of more) this.#line(`${label(command)}${marks.command}${line}`);
  }

  output(command: CommandSnapshot, stream: StreamName, text: string): void {
    let voice = this.#voices.get(command.commandId);
    if (voice === undefined) {
      voice = { stdout: new PlainText(), stderr: new PlainText() };
      this.#voices.set(command.commandId, voice);
    }
    this.#write(command, stream, voice[stream].take(text));
  }

  note(text: string): void {
    this.#line(`${marks.note}${text}`);
  }

  end(command: CommandSnapshot, result: Partial<CommandSnapshot>): void {
    const voice = this.#voices.get(command.commandId);
    this.#voices.delete(command.commandId);
    for (const stream of ['stdout', 'stderr'] as const) this.#write(command, stream, voice?.[stream].rest() ?? '');
    const mark = succeeded(result) ? marks.ok : marks.failed;
    this.#line(`${label(command)}${mark}${ending(result)} · ${duration(result.durationMs ?? 0)}`);
    for (const note of result.notes ?? []) this.note(note);
    for (const { pid, command: holder } of result.heldOpenBy ?? []) {
      this.note(vscode.l10n.t('Process {0} ({1}) still runs and may print more.', pid, holder));
    }
    this.#line('');
  }

  /** What has been written since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #write(command: CommandSnapshot, stream: StreamName, text: string): void {
    if (text === '') return;
    const speaker = `${command.commandId} ${stream}`;
    const prefix = `${label(command)}${stream === 'stderr' ? marks.stderr : ''}`;
    if (this.#open !== undefined && this.#open !== speaker) this.#text += '\n';
    const continues = this.#open === speaker;
    const ends = text.endsWith('\n');
    const body = ends ? text.slice(0, -1) : text;
    this.#text += (continues ? '' : prefix) + (prefix === '' ? body : body.replaceAll('\n', `\n${prefix}`));
    if (ends) this.#text += '\n';
    this.#open = ends ? undefined : speaker;
  }

  #line(line: string): void {
    if (this.#open !== undefined) this.#text += '\n';
    this.#open = undefined;
    this.#text += `${line}\n`;
  }
}

/** A background command's lines come between those of others, so they carry its number. */
function label({ background, commandId }: CommandSnapshot): string {
  return background ? `[${commandId.slice(commandId.lastIndexOf(':') + 1)}] ` : '';
}
