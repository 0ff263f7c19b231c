import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { forEachShell, until } from '../helpers/engine';

forEachShell('A command that goes on', (suite) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const areGone = (refs: readonly WeakRef<object>[]) => () => {
    collectGarbage();
    return refs.every((ref) => ref.deref() === undefined);
  };

  it('remembers nobody who has waited for it', async () => {
    const command = await suite.session.start('echo up; sleep 300', { background: true });
    const wait = async () => {
      const { signal } = new AbortController();
      await suite.opened.engine.wait({ commandId: command.id, until: [{ output: 'up' }] }, signal);
      return new WeakRef(signal);
    };
    const refs = [await wait(), await wait(), await wait()];
    await until('they are gone', areGone(refs));
    await command.cancel();
  });

  it('remembers nobody who has followed it', async () => {
    const command = await suite.session.start('echo up; sleep 300', { background: true });
    const follow = async () => {
      const gone = new AbortController();
      const emit = () => gone.abort();
      await assert.rejects(suite.opened.engine.follow({ commandId: command.id }, emit, gone.signal));
      return new WeakRef(emit);
    };
    const refs = [await follow(), await follow(), await follow()];
    await until('they are gone', areGone(refs));
    await command.cancel();
  });
});
