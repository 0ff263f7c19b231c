import assert from 'node:assert/strict';
import { commandIds, contextKeys, viewContainerId, viewIds } from '../../../extension/contributions';
import { limpetExtension } from './limpet';

interface Contributions {
  commands: { command: string; category: string; title: string }[];
  viewsContainers: { activitybar: { id: string }[] };
  views: Record<string, { id: string }[]>;
  viewsWelcome: { view: string; when?: string; contents: string }[];
}

const contributes = (): Contributions => limpetExtension().packageJSON.contributes;

describe('the ids in package.json and in the code', () => {
  it('name the same commands, all in the category Limpet', () => {
    const { commands } = contributes();
    assert.deepEqual(commands.map(({ command }) => command).sort(), Object.values(commandIds).sort());
    assert.deepEqual([...new Set(commands.map(({ category }) => category))], ['Limpet']);
  });

  it('name the same view container and views', () => {
    const { viewsContainers, views } = contributes();
    assert.deepEqual(
      viewsContainers.activitybar.map(({ id }) => id),
      [viewContainerId],
    );
    assert.deepEqual(Object.keys(views), [viewContainerId]);
    assert.deepEqual(
      views[viewContainerId]?.map(({ id }) => id),
      Object.values(viewIds),
    );
  });

  it('know every context key, view and command that the welcome content uses', () => {
    const known: string[] = [...Object.values(commandIds), ...Object.values(viewIds), ...Object.values(contextKeys)];
    const used = contributes().viewsWelcome.flatMap(({ view, when = '', contents }) => [
      view,
      ...(when.match(/limpet\.\w+/g) ?? []),
      ...(contents.match(/(?<=command:)[\w.]+/g) ?? []),
    ]);
    assert.deepEqual(
      used.filter((id) => !known.includes(id)),
      [],
    );
  });
});

describe('the manifest', () => {
  it('keeps everything off where nothing may run', () => {
    const { capabilities, extensionKind } = limpetExtension().packageJSON;
    assert.equal(capabilities.untrustedWorkspaces.supported, false);
    assert.equal(capabilities.virtualWorkspaces.supported, false);
    assert.ok(capabilities.untrustedWorkspaces.description);
    assert.ok(capabilities.virtualWorkspaces.description);
    assert.deepEqual(extensionKind, ['workspace']);
  });
});
