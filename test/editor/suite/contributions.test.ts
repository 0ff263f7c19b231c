import assert from 'node:assert/strict';
import {
  commandIds,
  contextKeys,
  outputLanguageId,
  settingIds,
  terminalProfileId,
  viewContainerId,
  viewIds,
  walkthroughId,
} from '../../../extension/contributions';
import { limpetExtension } from './limpet';

interface Contributions {
  commands: { command: string; category: string; title: string }[];
  viewsContainers: { activitybar: { id: string }[] };
  views: Record<string, { id: string }[]>;
  viewsWelcome: { view: string; when?: string; contents: string }[];
  menus: Record<string, { command: string; when?: string; group?: string }[]>;
  configuration: { properties: Record<string, { scope: string; markdownDescription: string }> };
  terminal: { profiles: { id: string }[] };
  languages: { id: string }[];
  walkthroughs: { id: string; steps: unknown[] }[];
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

describe('menus', () => {
  const inlineFor = (item: string) =>
    contributes()
      .menus['view/item/context']?.filter(({ group }) => group?.startsWith('inline'))
      .filter(({ when = '' }) => {
        const pattern = /viewItem =~ \/(.+?)\/(?: |$)/.exec(when)?.[1];
        return pattern === undefined ? when.endsWith(`viewItem == ${item}`) : new RegExp(pattern).test(item);
      })
      .map(({ command }) => command);

  it('offer at most three actions on a line itself', () => {
    assert.deepEqual(
      ['session.idle', 'session.running', 'command.running', 'command.finished'].map((item) => inlineFor(item)),
      [
        ['limpet.runCommand', 'limpet.attachTerminal', 'limpet.destroySession'],
        ['limpet.runCommand', 'limpet.attachTerminal', 'limpet.destroySession'],
        ['limpet.stopCommand', 'limpet.openCommandLog'],
        ['limpet.rerunCommand', 'limpet.openCommandLog'],
      ],
    );
  });

  it('name commands and context keys that exist', () => {
    const items = Object.values(contributes().menus).flat();
    const known: string[] = [...Object.values(commandIds), ...Object.values(viewIds), ...Object.values(contextKeys)];
    const used = items.flatMap(({ command, when = '' }) => [command, ...(when.match(/limpet\.\w+/g) ?? [])]);
    assert.deepEqual(
      used.filter((id) => !known.includes(id)),
      [],
    );
  });
});

describe('settings', () => {
  it('are the ones the code reads, each with a description', () => {
    const { properties } = contributes().configuration;
    assert.deepEqual(
      Object.keys(properties),
      settingIds.map((id) => `limpet.${id}`),
    );
    assert.deepEqual(
      Object.values(properties).filter(({ markdownDescription }) => !/^[A-Z].{10,}\.$/.test(markdownDescription)),
      [],
    );
  });

  it('leave a workspace no word in what runs: only what opens is its business', () => {
    const { properties } = contributes().configuration;
    const open = Object.entries(properties).filter(([, { scope }]) => scope !== 'machine' && scope !== 'application');
    assert.deepEqual(
      open.map(([id]) => id),
      ['limpet.reveal'],
    );
  });
});

describe('other contributions', () => {
  it('are a terminal profile, a language for the output and a walkthrough of four steps', () => {
    const { terminal, languages, walkthroughs } = contributes();
    assert.deepEqual(
      terminal.profiles.map(({ id }) => id),
      [terminalProfileId],
    );
    assert.deepEqual(
      languages.map(({ id }) => id),
      [outputLanguageId],
    );
    assert.deepEqual(
      walkthroughs.map(({ id, steps }) => [`limpet.limpet#${id}`, steps.length]),
      [[walkthroughId, 4]],
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
