import assert from 'node:assert/strict';
import { type Edit, LineEditor } from '../../../extension/terminal/line-editor';
import { TypedInput } from '../../../extension/terminal/typed-input';

const keys = { up: '\x1b[A', down: '\x1b[B', right: '\x1b[C', left: '\x1b[D', home: '\x1b[H', end: '\x1b[F' };
const enter = '\r';
const backspace = '\x7f';

describe('the line a person edits at the prompt', () => {
  const submitted = (data: string, history: string[] = []) => {
    const editor = new LineEditor(
      () => {},
      () => history,
    );
    editor.show('$ ', 2);
    return editor.take(data).map((edit: Edit) => (edit.kind === 'submit' ? edit.line : edit.kind));
  };

  it('takes characters, corrections and movements', () => {
    assert.deepEqual(submitted(`ecko${backspace}${backspace}ho hi${enter}`), ['echo hi']);
    assert.deepEqual(submitted(`cho hi${keys.home}e${keys.end}!${enter}`), ['echo hi!']);
    assert.deepEqual(submitted(`ab${keys.left}${keys.left}${keys.left}x${keys.right}y${enter}`), ['xayb']);
    assert.deepEqual(submitted(`one two\x17three${enter}`), ['one three']);
    assert.deepEqual(submitted(`gone\x15kept${enter}`), ['kept']);
    assert.deepEqual(submitted(`kept gone${'\x02'.repeat(5)}\x0b${enter}`), ['kept']);
    assert.deepEqual(submitted(`größe 🐚${backspace}漢${enter}`), ['größe 漢']);
  });

  it('recalls what ran before, and comes back to what was being typed', () => {
    const history = ['newest', 'older'];
    assert.deepEqual(submitted(`${keys.up}${enter}`, history), ['newest']);
    assert.deepEqual(submitted(`${keys.up}${keys.up}${keys.up}${enter}`, history), ['older']);
    assert.deepEqual(submitted(`dra${keys.up}${keys.down}ft${enter}`, history), ['draft']);
  });

  it('is dropped by Ctrl-C, and Ctrl-D ends only when it is empty', () => {
    assert.deepEqual(submitted(`gone\x03kept${enter}`), ['interrupt', 'kept']);
    assert.deepEqual(submitted(`ab${keys.left}\x04${enter}\x04`), ['a', 'end']);
  });

  it('takes several pasted lines one after the other', () => {
    assert.deepEqual(submitted('a\rb\r\nc\n'), ['a', 'b', 'c']);
  });

  it('is drawn over several rows where it is longer than one', () => {
    let written = '';
    const editor = new LineEditor(
      (text) => {
        written += text;
      },
      () => [],
    );
    editor.columns = 10;
    editor.show('$ ', 2);
    editor.take('0123456789');
    written = '';
    editor.take(keys.home);
    // One row up to the prompt's row, drawn anew, and back to the first character after the prompt.
    assert.equal(written, '\x1b[1A\r\x1b[J$ 0123456789\x1b[1A\r\x1b[2C');
    written = '';
    editor.hide();
    assert.equal(written, '\r\x1b[J');
  });
});

describe('what a person types to a command', () => {
  it('is shown, and handed over line by line', () => {
    let shown = '';
    const input = new TypedInput((text) => {
      shown += text;
    });
    const typed = input.take(`ye${backspace}es\rpart\x04\x04\x03`);
    assert.deepEqual(typed, [
      { kind: 'line', text: 'yes\n' },
      { kind: 'line', text: 'part' },
      { kind: 'end' },
      { kind: 'interrupt' },
    ]);
    assert.equal(shown, 'ye\b \bes\r\npart^C');
  });
});
