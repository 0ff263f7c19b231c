import assert from 'node:assert/strict';
import { runtimeDirectory, stateDirectory } from '../../protocol/places';

describe('where sidecar and clients meet', () => {
  const at = (env: Record<string, string>) => {
    const surroundings = { env, temporaryDir: '/tmp', homeDir: '/home/me', uid: 1000 };
    return [runtimeDirectory(surroundings), stateDirectory(surroundings)];
  };

  it('is what the user chose, else what the system offers, else a place of their own', () => {
    const chosen = { LIMPET_RUNTIME_DIR: '/r', LIMPET_STATE_DIR: '/s' };
    const offered = { XDG_RUNTIME_DIR: '/run/user/1000', XDG_STATE_HOME: '/state' };
    assert.deepEqual(at({ ...offered, ...chosen }), ['/r', '/s']);
    assert.deepEqual(at(offered), ['/run/user/1000/limpet', '/state/limpet']);
    assert.deepEqual(at({}), ['/tmp/limpet-1000', '/home/me/.local/state/limpet']);
  });

  it('takes an empty variable for none', () => {
    assert.deepEqual(
      at({ LIMPET_RUNTIME_DIR: '', XDG_RUNTIME_DIR: '', LIMPET_STATE_DIR: '', XDG_STATE_HOME: '' }),
      at({}),
    );
  });
});
