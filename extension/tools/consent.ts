import * as vscode from 'vscode';
import { isAllowed } from '../../protocol/tools/allow-rules';
import type { ToolInput, ToolName } from '../../protocol/tools/definitions';
import { hiddenCharacters } from '../../protocol/tools/hidden-characters';

/** Where a command would run, as far as that is known beforehand. */
export interface Place {
  session: string;
  cwd: string;
}

export interface Known {
  place(session: string | undefined, cwd: string | undefined): Place;
  command(commandId: string): string | undefined;
  allowRules: readonly string[];
}

type Prepare = { [N in ToolName]: (input: ToolInput<N>, known: Known) => vscode.PreparedToolInvocation };

/** What the person is told, and asked, before a tool does its work. */
export const prepare: Prepare = {
  limpet_run_command: (input, known) => {
    const { session, cwd } = known.place(input.session, input.cwd);
    const invocationMessage = said(vscode.l10n.t('Running {0}', code(brief(input.command))));
    const isPlain = input.cwd === undefined && input.env === undefined && input.stdin === undefined;
    if (isPlain && isAllowed(input.command, known.allowRules)) return { invocationMessage };
    // First, because a long command leaves what comes after it out of sight.
    const message = said(vscode.l10n.t('Session {0}, in {1}', code(session), code(cwd)));
    message.appendMarkdown(unseenIn(input.command, input.stdin, ...Object.entries(input.env ?? {}).flat()));
    message.appendCodeblock(input.command, 'sh');
    for (const [name, value] of Object.entries(input.env ?? {})) message.appendCodeblock(`${name}=${value}`, 'sh');
    if (input.stdin !== undefined) {
      message.appendMarkdown(`${vscode.l10n.t('With this input:')}\n`).appendCodeblock(input.stdin, 'text');
    }
    const title =
      input.background === true
        ? vscode.l10n.t('Run this command in the background?')
        : vscode.l10n.t('Run this command?');
    return { invocationMessage, confirmationMessages: { title, message } };
  },
  limpet_send_input: ({ commandId, text = '', eof = false }, known) => {
    const message = said(unseenIn(text));
    if (text !== '') message.appendCodeblock(text, 'text');
    if (eof) message.appendMarkdown(`${vscode.l10n.t('Then the input ends.')}\n\n`);
    message.appendMarkdown(
      vscode.l10n.t('To command {0}: {1}', code(commandId), code(brief(known.command(commandId) ?? '?'))),
    );
    return {
      invocationMessage: said(vscode.l10n.t('Typing into {0}', nameOf(commandId, known))),
      confirmationMessages: { title: vscode.l10n.t('Type this into a running command?'), message },
    };
  },
  limpet_stop_command: ({ commandId, signal }, known) => {
    const message = new vscode.MarkdownString();
    message.appendCodeblock(known.command(commandId) ?? commandId, 'sh');
    const title =
      signal === undefined ? vscode.l10n.t('Stop this command?') : vscode.l10n.t('Send {0} to this command?', signal);
    return {
      invocationMessage: said(vscode.l10n.t('Stopping {0}', nameOf(commandId, known))),
      confirmationMessages: { title, message },
    };
  },
  limpet_create_session: ({ name, cwd, shell, env = {} }, known) => {
    const message = said(unseenIn(name, shell, cwd, ...Object.entries(env).flat()));
    const place = known.place(name ?? '', cwd);
    if (shell !== undefined) message.appendCodeblock(shell, 'sh');
    for (const [variable, value] of Object.entries(env)) message.appendCodeblock(`${variable}=${value}`, 'sh');
    message.appendMarkdown(vscode.l10n.t('Session {0}, in {1}', code(name ?? '…'), code(place.cwd)));
    return {
      invocationMessage: vscode.l10n.t('Starting a session'),
      confirmationMessages: { title: vscode.l10n.t('Start a shell session?'), message },
    };
  },
  limpet_destroy_session: ({ session }) => ({
    invocationMessage: vscode.l10n.t('Ending a session'),
    confirmationMessages: {
      title: vscode.l10n.t('End this session and everything it runs?'),
      message: said(code(session)),
    },
  }),
  limpet_wait_for_command: ({ commandId }, known) => ({
    invocationMessage: said(vscode.l10n.t('Waiting for {0}', nameOf(commandId, known))),
  }),
  limpet_read_output: ({ commandId }, known) => ({
    invocationMessage: said(vscode.l10n.t('Reading the output of {0}', nameOf(commandId, known))),
  }),
  limpet_list_sessions: () => ({ invocationMessage: vscode.l10n.t('Listing sessions') }),
};

/** Text that no Markdown in it can change the look of. */
export function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${text.replace(/\s+/g, ' ')} ${fence}`;
}

/** Says which characters of these texts a person would not see. */
function unseenIn(...texts: (string | undefined)[]): string {
  const characters = hiddenCharacters(texts.join('\n'));
  return characters.length === 0
    ? ''
    : `\n\n**${vscode.l10n.t('Characters that do not show: {0}', characters.join(', '))}**\n\n`;
}

const said = (markdown: string) => new vscode.MarkdownString(markdown);
const nameOf = (commandId: string, known: Known) => code(brief(known.command(commandId) ?? commandId));
const brief = (command: string) => (command.length <= 100 ? command : `${command.slice(0, 99)}…`);
