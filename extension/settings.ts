import * as vscode from 'vscode';
import type { Params } from '../protocol/methods';
import { commandIds, type SettingId, settingsSection } from './contributions';

export type Reveal = 'terminal' | 'output' | 'never';

const get = <T>(id: SettingId, otherwise: T): T =>
  vscode.workspace.getConfiguration(settingsSection).get<T>(id) ?? otherwise;

export const reveal = (): Reveal => get<Reveal>('reveal', 'terminal');

/** Off by default: an agent in the editor has the tools anyway, and would see each of them twice. */
export const announcesMcpServer = (): boolean => get('announceMcpServer', false);

/** How new sessions begin, unless the call says otherwise. */
export function sessionDefaults(): Params<'session.create'> {
  const shell = get('shell', '');
  const environment = get<Record<string, string>>('environment', {});
  const seconds = get('commandTimeout', 0);
  const minutes = get('idleTimeout', 0);
  return {
    profile: get<'clean' | 'user'>('profile', 'clean'),
    ...(shell === '' ? {} : { shell }),
    ...(Object.keys(environment).length === 0 ? {} : { env: environment }),
    ...(seconds > 0 ? { defaultTimeoutMs: Math.round(seconds * 1000) } : {}),
    ...(minutes > 0 ? { idleTimeoutMs: Math.round(minutes * 60_000) } : {}),
  };
}

const ofTheSidecar: Partial<Record<SettingId, { variable: string; value: (setting: unknown) => string }>> = {
  keepAlive: { variable: 'LIMPET_KEEP_ALIVE', value: (minutes) => String(Math.round(Number(minutes) * 60_000)) },
  maxSessions: { variable: 'LIMPET_MAX_SESSIONS', value: String },
  logLevel: { variable: 'LIMPET_LOG_LEVEL', value: String },
};

/** What a sidecar is started with; a setting that was never touched leaves the word to the environment. */
export function sidecarEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const configuration = vscode.workspace.getConfiguration(settingsSection);
  const chosen = Object.entries(ofTheSidecar).flatMap(([id, { variable, value }]) => {
    const setting = configuration.inspect(id)?.globalValue;
    return setting === undefined ? [] : [[variable, value(setting)] as const];
  });
  return { ...env, ...Object.fromEntries(chosen) };
}

/** Some settings count from the sidecar's next start: offers it. */
export function offerRestart(): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration(async (change) => {
    const concerned = Object.keys(ofTheSidecar).some((id) => change.affectsConfiguration(`${settingsSection}.${id}`));
    if (!concerned) return;
    const restart = vscode.l10n.t('Restart Sidecar');
    const chosen = await vscode.window.showInformationMessage(
      vscode.l10n.t('This counts from the next start of the Limpet sidecar. Sessions live on when it is restarted.'),
      restart,
    );
    if (chosen === restart) await vscode.commands.executeCommand(commandIds.restartSidecar);
  });
}
