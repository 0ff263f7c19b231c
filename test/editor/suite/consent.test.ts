import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { code, type Known, prepare } from '../../../extension/tools/consent';

const known: Known = {
  place: (session = 'mine', cwd = '/work') => ({ session, cwd }),
  command: () => 'make all',
  allowRules: ['npm test'],
};

function asked({ confirmationMessages }: vscode.PreparedToolInvocation): string {
  const message = confirmationMessages?.message;
  assert.ok(message instanceof vscode.MarkdownString);
  // Else a link in a command could run something when it is clicked.
  assert.ok(!message.isTrusted && !message.supportHtml);
  return message.value;
}

describe('what a person is asked before a tool runs', () => {
  it('has the place first, then the command, its variables and its input', () => {
    const question = asked(
      prepare.limpet_run_command({ command: 'make', cwd: '/tmp', env: { A: '1' }, stdin: 'yes' }, known),
    );
    assert.equal(
      question.replace(/\n+/g, '\n'),
      'Session ` mine `, in ` /tmp `\n```sh\nmake\n```\n```sh\nA=1\n```\nWith this input:\n```text\nyes\n```\n',
    );
  });

  it('is nothing for a command the user allowed, unless it comes with more', () => {
    const isAsked = (input: object) =>
      prepare.limpet_run_command({ command: 'npm test', ...input }, known).confirmationMessages !== undefined;
    assert.equal(isAsked({}), false);
    for (const more of [{ env: { A: '1' } }, { stdin: 'x' }, { cwd: '/tmp' }]) assert.equal(isAsked(more), true);
  });

  it('shows Markdown in a command, a name or a directory as it is', () => {
    const trick = 'echo\n```\n[harmless](command:x)\n```\n';
    const question = asked(prepare.limpet_run_command({ command: trick, session: '`[x](y)`', cwd: '`/a``b' }, known));
    assert.match(question, /^Session `` `\[x\]\(y\)` ``, in ``` `\/a``b ```\n````sh\n/);
    assert.ok(question.trimEnd().endsWith('\n````'));
    assert.equal(code('a`b\nc'), '`` a`b c ``');
  });

  it('names characters that do not show', () => {
    const warning = /\*\*Characters that do not show: U\+202E\*\*/;
    assert.match(asked(prepare.limpet_run_command({ command: 'echo \u202e' }, known)), warning);
    assert.match(asked(prepare.limpet_run_command({ command: 'x', env: { A: '\u202e' } }, known)), warning);
    assert.match(asked(prepare.limpet_send_input({ commandId: 'c', text: '\u202e' }, known)), warning);
    assert.match(asked(prepare.limpet_create_session({ shell: '/bin/\u202ebash' }, known)), warning);
  });

  it('comes with every tool that does something, and with none that only looks', () => {
    const asks = {
      limpet_run_command: prepare.limpet_run_command({ command: 'x' }, known),
      limpet_send_input: prepare.limpet_send_input({ commandId: 'c', eof: true }, known),
      limpet_stop_command: prepare.limpet_stop_command({ commandId: 'c' }, known),
      limpet_create_session: prepare.limpet_create_session({}, known),
      limpet_destroy_session: prepare.limpet_destroy_session({ session: 'x' }, known),
    };
    for (const [name, prepared] of Object.entries(asks)) assert.ok(prepared.confirmationMessages, name);
    const looks = [
      prepare.limpet_wait_for_command({ commandId: 'c' }, known),
      prepare.limpet_read_output({ commandId: 'c' }, known),
      prepare.limpet_list_sessions({}, known),
    ];
    assert.deepEqual(
      looks.map(({ confirmationMessages }) => confirmationMessages),
      [undefined, undefined, undefined],
    );
  });
});
