import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { untilPublished } from '../../client/published';
import { OpenedEngine } from '../helpers/engine';

/** Longer than any test. */
const never = 2 ** 31 - 1;

/** What keeps this process busy: watches and timers. A watch is closed at the end of a turn. */
async function busyWith() {
  await turn();
  await turn();
  const kinds = process.getActiveResourcesInfo();
  const count = (kind: string) => kinds.filter((name) => name === kind).length;
  return { watches: count('FSEventWrap'), timers: count('Timeout') };
}

describe('What is published beside a log', () => {
  let directory: string;
  let logPath: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'limpet-test-'));
    logPath = join(directory, '7.log');
    await writeFile(logPath, '');
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is noticed by a watch', async () => {
    const exit = untilPublished(logPath, 'exit', { everyMs: never });
    const done = untilPublished(logPath, 'done', { everyMs: never });
    await writeFile(join(directory, 'aside'), '0\n');
    await link(join(directory, 'aside'), join(directory, '7.exit'));
    assert.equal(await exit, true);
    await rename(join(directory, 'aside'), join(directory, '7.labelers.done'));
    assert.equal(await done, true);
  });

  it('is noticed by polling where nothing can be watched', async () => {
    const later = join(directory, 'later');
    const published = untilPublished(join(later, '7.log'), 'exit', { everyMs: 5 });
    await mkdir(later);
    await writeFile(join(later, '7.exit'), '0\n');
    assert.equal(await published, true);
  });

  it('is noticed if it was there before', async () => {
    await writeFile(join(directory, '7.exit'), '0\n');
    assert.equal(await untilPublished(logPath, 'exit', { signal: AbortSignal.abort() }), true);
  });

  it('is not taken for that of another command, or for the other file', async () => {
    const gone = new AbortController();
    const published = untilPublished(logPath, 'exit', { signal: gone.signal, everyMs: 1 });
    for (const name of ['17.exit', '7.exit.new', '7.labelers.done']) await writeFile(join(directory, name), '0\n');
    assert.equal(await Promise.race([published, new Promise((resolve) => setTimeout(resolve, 30, 'waits'))]), 'waits');
    gone.abort();
    assert.equal(await published, false);
  });

  it('leaves no watch and no timer behind, whether it came or nobody waits any more', async () => {
    const before = await busyWith();
    const gone = new AbortController();
    const given = untilPublished(logPath, 'exit', { signal: gone.signal });
    const came = untilPublished(logPath, 'done');
    assert.deepEqual(await busyWith(), { watches: before.watches + 2, timers: before.timers + 2 });
    gone.abort();
    assert.equal(await given, false);
    await writeFile(join(directory, '7.labelers.done'), '');
    assert.equal(await came, true);
    assert.equal(await untilPublished(logPath, 'exit', { signal: AbortSignal.abort() }), false);
    assert.deepEqual(await busyWith(), before);
  });

  it('is what the sidecar publishes', async () => {
    const opened = await OpenedEngine.open();
    try {
      const session = await opened.session('bash');
      const { logPath: path } = await session.run("sh -c 'echo a; exit 7'");
      assert.deepEqual(await Promise.all([untilPublished(path, 'exit'), untilPublished(path, 'done')]), [true, true]);
      assert.equal(readFileSync(path.replace(/log$/, 'exit'), 'utf8'), '7\n');
      assert.equal(readFileSync(path, 'latin1'), '\x01\x01\x01a\n');
    } finally {
      await opened.dispose();
    }
  });
});
