import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../../../extension/contributions';
import { protocolVersion } from '../../../protocol/version';
import { limpetExtension, startLimpet } from './limpet';

describe('the packaged extension', () => {
  it('is installed as a user gets it, not run from its source', () => {
    const { extensionPath } = limpetExtension();
    assert.match(basename(extensionPath), /^limpet\.limpet-\d/);
    assert.equal(existsSync(join(extensionPath, 'extension')), false);
  });

  it('activates and brings up a sidecar that answers a ping', async () => {
    const api = await startLimpet();
    const client = await api.sidecar.client();
    const { uptimeMs, ...pong } = await client.request('system.ping', {});
    assert.ok(uptimeMs >= 0);
    assert.deepEqual(pong, {
      pong: true,
      pid: client.sidecar.pid,
      version: limpetExtension().packageJSON.version,
      protocolVersion,
    });
    assert.equal(api.sidecar.state, 'running');
    assert.notEqual(pong.pid, process.pid);
  });

  it('registers every command it declares', async () => {
    await startLimpet();
    const registered = await vscode.commands.getCommands(true);
    const missing = Object.values(commandIds).filter((id) => !registered.includes(id));
    assert.deepEqual(missing, []);
  });
});
