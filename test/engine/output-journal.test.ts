import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputJournal } from '../../sidecar/output/output-journal';

const deadOwner = 'unlogged-4194305-1-1';

describe('The journal of short output', () => {
  let root: string;
  let directory: string;
  const log = (name: string) => join(root, 'sessions', 's-1', name);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'limpet-test-'));
    directory = join(root, 'journal');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const replay = () => {
    const journal = new OutputJournal(directory);
    journal.replayThoseOfTheDead();
    journal.dispose();
  };

  /** A journal whose process died without making any log. */
  async function leaveBehind(...entries: [log: string, records: string][]): Promise<void> {
    const journal = new OutputJournal(directory);
    for (const [path, records] of entries) assert.ok(journal.add(path, Buffer.from(records)));
    const [name = ''] = await readdir(directory);
    await rename(join(directory, name), join(directory, deadOwner));
  }

  it('becomes the logs its process did not live to make', async () => {
    await leaveBehind([log('1.log'), 'one\n'], [log('2.log'), 'é\0\n'], [log('1.log'), 'more\n']);
    replay();
    assert.equal(await readFile(log('1.log'), 'utf8'), 'one\nmore\n');
    assert.equal(await readFile(log('2.log'), 'utf8'), 'é\0\n');
    assert.deepEqual(await readdir(directory), []);
  });

  it('changes no log that was made and went on', async () => {
    await mkdir(join(root, 'sessions', 's-1'), { recursive: true });
    await writeFile(log('1.log'), 'one\nand the rest\n');
    await leaveBehind([log('1.log'), 'one\n']);
    replay();
    assert.equal(await readFile(log('1.log'), 'utf8'), 'one\nand the rest\n');
  });

  it('writes through no file that several logs share, and makes the others where one cannot be made', async () => {
    await mkdir(join(root, 'sessions', 's-1'), { recursive: true });
    await writeFile(join(root, 'empty'), '');
    for (const name of ['1.log', '2.log']) await link(join(root, 'empty'), log(name));
    await writeFile(join(root, 'no directory'), '');
    await leaveBehind([join(root, 'no directory', '3.log'), 'three\n'], [log('1.log'), 'one\n']);
    replay();
    const texts = await Promise.all(
      [log('1.log'), log('2.log'), join(root, 'empty')].map((path) => readFile(path, 'utf8')),
    );
    assert.deepEqual(texts, ['one\n', '', '']);
    assert.deepEqual(await readdir(directory), [deadOwner], 'it is there for the next one to try again');
  });

  it('makes nothing of an entry that was not written to its end', async () => {
    await leaveBehind([log('1.log'), 'one\n']);
    await writeFile(join(directory, deadOwner), `100 ${log('2.log')}\nhalf`, { flag: 'a' });
    replay();
    assert.deepEqual(await readdir(join(root, 'sessions', 's-1')), ['1.log']);
  });

  it('is left alone while its process lives', async () => {
    const journal = new OutputJournal(directory);
    assert.ok(journal.add(log('1.log'), Buffer.from('one\n')));
    replay();
    assert.equal((await readdir(directory)).length, 1);
    journal.dispose();
    assert.deepEqual(await readdir(root), ['journal']);
  });

  it('is empty once everything is where it belongs', async () => {
    const journal = new OutputJournal(directory);
    journal.add(log('1.log'), Buffer.from('one\n'));
    journal.clear();
    const [name = ''] = await readdir(directory);
    assert.equal(await readFile(join(directory, name), 'utf8'), '');
    journal.dispose();
  });
});
