import assert from 'node:assert/strict';
import { existsSync, type FSWatcher, watch, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Command } from '../../sidecar/engine/command';
import { type FileWatching, waitFor, watchFile } from '../../sidecar/engine/waiting';
import { Occurrence } from '../../sidecar/occurrence';
import { forEachShell, until } from '../helpers/engine';

/** Longer than any test: whoever is noticed was noticed by the other means. */
const never = 2 ** 31 - 1;
/** A watch that tells nothing, as on file systems that have none. */
const blind: FileWatching = { watch: (directory) => watch(directory) };
const alone: FileWatching = { everyMs: never };

/** What keeps this process busy: watches and timers. */
const busyWith = () => {
  const kinds = process.getActiveResourcesInfo();
  const count = (kind: string) => kinds.filter((name) => name === kind).length;
  return { watches: count('FSEventWrap'), timers: count('Timeout') };
};

/** A command that goes on for ever. */
const endless = endingAt(new Occurrence());

function endingAt(end: Occurrence): Command {
  return { whenFinished: (callback: () => void) => end.once(callback) } as unknown as Command;
}

for (const place of [tmpdir(), '/dev/shm'].filter((path) => existsSync(path))) {
  describe(`Waiting for a file in ${place === '/dev/shm' ? 'memory' : 'the directory for temporary files'}`, () => {
    let directory: string;
    let stop: () => void = () => {};
    beforeEach(async () => {
      directory = await mkdtemp(join(place, 'limpet-test-'));
    });
    afterEach(async () => {
      stop();
      await rm(directory, { recursive: true, force: true });
    });

    /** Resolves once the file is noticed. */
    const noticed = (path: string, how?: FileWatching) =>
      new Promise<void>((resolve) => {
        stop = watchFile(path, how)(resolve);
      });

    for (const [means, how] of [
      ['a watch alone', alone],
      ['polling alone', blind],
    ] as const) {
      it(`sees by ${means} that it is made`, async () => {
        const file = join(directory, 'made');
        const seen = noticed(file, how);
        await writeFile(file, '');
        await seen;
      });

      it(`sees by ${means} that it gets its name`, async () => {
        const file = join(directory, 'made');
        await writeFile(join(directory, 'aside'), '');
        const seen = noticed(file, how);
        await rename(join(directory, 'aside'), file);
        await seen;
      });

      it(`sees by ${means} that it comes with its directories`, async () => {
        const file = join(directory, 'one', 'two', 'made');
        const seen = noticed(file, how);
        await mkdir(join(directory, 'one', 'two'), { recursive: true });
        await writeFile(file, '');
        await seen;
      });

      it(`sees by ${means} that its directories come one by one, with time between`, async () => {
        const file = join(directory, 'one', 'two', 'made');
        const watched: string[] = [];
        const counting: FileWatching = {
          ...how,
          watch: (path, onChange) => {
            watched.push(path);
            return (how.watch ?? watch)(path, onChange);
          },
        };
        const seen = noticed(file, counting);
        for (const path of [join(directory, 'one'), join(directory, 'one', 'two')]) {
          await mkdir(path);
          await until('it is watched', () => watched.at(-1) === path);
        }
        await writeFile(file, '');
        await seen;
        assert.deepEqual(watched, [directory, join(directory, 'one'), join(directory, 'one', 'two')]);
      });

      it(`sees by ${means} a file in a directory that gets its name with the file in it`, async () => {
        await mkdir(join(directory, 'aside'));
        await writeFile(join(directory, 'aside', 'made'), '');
        const seen = noticed(join(directory, 'one', 'made'), how);
        await rename(join(directory, 'aside'), join(directory, 'one'));
        await seen;
      });
    }

    it('sees one that is there already', async () => {
      await writeFile(join(directory, 'made'), '');
      await noticed(join(directory, 'made'), { everyMs: never, watch: assert.fail });
    });

    it('sees one that is made while the watch begins', async () => {
      const file = join(directory, 'made');
      const late: FileWatching = {
        everyMs: never,
        watch: (path) => {
          writeFileSync(file, '');
          return watch(path);
        },
      };
      await noticed(file, late);
    });

    it('sees it where nothing can be watched, or no longer', async () => {
      const full: FileWatching = {
        watch: () => {
          throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        },
      };
      const seen = noticed(join(directory, 'made'), full);
      await writeFile(join(directory, 'made'), '');
      await seen;
      stop();

      let broken: FSWatcher | undefined;
      const breaking: FileWatching = {
        watch: (path) => {
          broken = watch(path);
          return broken;
        },
      };
      const later = noticed(join(directory, 'other'), breaking);
      broken?.emit('error', new Error('it broke'));
      await writeFile(join(directory, 'other'), '');
      await later;
    });

    it('sees it in a directory that was removed and made again', async () => {
      const inner = join(directory, 'one');
      await mkdir(inner);
      const seen = noticed(join(inner, 'made'));
      await rm(inner, { recursive: true });
      await mkdir(inner);
      await writeFile(join(inner, 'made'), '');
      await seen;
    });

    describe('leaves nothing behind', () => {
      const context = () => ({ cwd: directory, waitsForInput: () => false });
      const conditions = [{ file: 'made' }, { file: join('one', 'two', 'made') }];
      /** A watch is closed at the end of a turn. */
      const idle = async () => {
        await turn();
        await turn();
        return busyWith();
      };

      it('when the file is there', async () => {
        const before = await idle();
        const waiting = waitFor(endless, conditions, context(), never, undefined);
        const during = busyWith();
        assert.deepEqual(during, { watches: before.watches + 2, timers: before.timers + 3 }, 'it watches and polls');
        await writeFile(join(directory, 'made'), '');
        assert.equal(await waiting, 'file');
        assert.deepEqual(await idle(), before);
      });

      it('when the file was there before', async () => {
        await writeFile(join(directory, 'made'), '');
        const before = await idle();
        assert.equal(await waitFor(endless, conditions, context(), never, undefined), 'file');
        assert.deepEqual(await idle(), before);
      });

      it('when nobody waits any more', async () => {
        const before = await idle();
        const gone = new AbortController();
        const waiting = waitFor(endless, conditions, context(), undefined, gone.signal);
        assert.equal(busyWith().watches, before.watches + 2);
        gone.abort();
        await waiting;
        assert.deepEqual(await idle(), before);
      });

      it('when nobody waited from the beginning', async () => {
        const before = await idle();
        await waitFor(endless, conditions, context(), undefined, AbortSignal.abort());
        assert.deepEqual(await idle(), before);
      });

      it('when the time is over', async () => {
        const before = await idle();
        assert.equal(await waitFor(endless, conditions, context(), 30, undefined), 'timeout');
        assert.deepEqual(await idle(), before);
      });

      it('when the command ends', async () => {
        const before = await idle();
        const end = new Occurrence();
        const waiting = waitFor(endingAt(end), conditions, context(), undefined, undefined);
        end.happen();
        assert.equal(await waiting, 'exit');
        assert.deepEqual(await idle(), before);
      });

      it('when something else that is waited for cannot be looked for', async () => {
        const before = await idle();
        const waitsForInput = () => {
          throw new Error('no more files can be opened');
        };
        const both = [...conditions, { input: true as const }];
        await assert.rejects(
          waitFor(endless, both, { cwd: directory, waitsForInput }, never, undefined),
          /no more files/,
        );
        assert.deepEqual(await idle(), before);
      });
    });
  });
}

forEachShell('Waiting for the files of a command', (suite) => {
  it('sees one that it makes aside and gives its name, in a directory it makes', async () => {
    const command = await suite.session.start('sleep 0.1; mkdir -p a/b; echo 1 >aside; mv aside a/b/made; sleep 300', {
      background: true,
    });
    const { met, state } = await command.wait([{ file: 'a/b/made' }]);
    assert.deepEqual([met, state], ['file', 'running']);
    await command.cancel();
  });
});
