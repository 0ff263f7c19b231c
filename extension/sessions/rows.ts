import * as vscode from 'vscode';
import type { CommandSnapshot, SessionInfo } from '../../protocol/values';
import { brief, byWhom, duration, elapsed, ending, succeeded } from './words';

/** What a line of the Sessions view shows. */
export interface Row {
  label: string;
  description: string;
  tooltip: string;
  spoken: string;
  icon: vscode.ThemeIcon;
  contextValue: string;
}

const icon = (id: string, color?: string) =>
  new vscode.ThemeIcon(id, color === undefined ? undefined : new vscode.ThemeColor(color));

const join = (...parts: (string | undefined)[]) => parts.filter((part) => part).join(' · ');

export function sessionRow(session: SessionInfo, directory: string, now: number): Row {
  const running = session.runningCommand;
  const since = running && elapsed(now - Date.parse(running.startedAt));
  const waiting = session.queued > 0 ? vscode.l10n.t('{0} queued', session.queued) : undefined;
  const background = session.backgroundCount > 0 ? vscode.l10n.t('{0} in background', session.backgroundCount) : '';
  const doing = running === undefined ? undefined : `${brief(running.command, 30)} (${since})`;
  return {
    label: session.name,
    description: join(session.shell, directory, doing, waiting, background),
    tooltip: [
      `${session.name} (${session.sessionId})`,
      `${session.shellPath}${session.pid === null ? '' : vscode.l10n.t(', process {0}', session.pid)}`,
      session.cwd,
      ...(session.restarts > 0 ? [vscode.l10n.t('Shell started again: {0}', session.restarts)] : []),
      ...session.notes,
    ].join('\n'),
    spoken: [
      vscode.l10n.t('Session {0}', session.name),
      session.shell,
      vscode.l10n.t('in {0}', directory),
      running === undefined
        ? vscode.l10n.t('idle')
        : vscode.l10n.t('running {0} for {1}', brief(running.command), since ?? ''),
      ...(background === '' ? [] : [background]),
    ].join(', '),
    icon: running === undefined ? icon('terminal') : icon('loading~spin'),
    contextValue: running === undefined ? 'session.idle' : 'session.running',
  };
}

export function commandRow(command: CommandSnapshot, now: number, isStopping = false): Row {
  // Short enough to leave room, in a view as wide as it is at first, for how it ended; the tooltip has all of it.
  const label = brief(command.command, 24) || vscode.l10n.t('(empty)');
  const kind = command.background ? vscode.l10n.t('background') : undefined;
  const { state } = command;
  const time =
    state === 'finished'
      ? duration(command.durationMs ?? 0)
      : state === 'running'
        ? elapsed(now - Date.parse(command.startedAt))
        : undefined;
  const status =
    state === 'finished'
      ? ending(command)
      : state === 'queued'
        ? vscode.l10n.t('queued')
        : isStopping
          ? vscode.l10n.t('stopping')
          : undefined;
  const who = byWhom(command.origin);
  return {
    label,
    description: join(status, time, kind, who),
    tooltip: [
      brief(command.command, 2000),
      vscode.l10n.t('Started {0}', new Date(command.startedAt).toLocaleString()),
      ...(command.notes ?? []),
    ].join('\n'),
    spoken: [
      brief(command.command),
      status ?? vscode.l10n.t('running'),
      time,
      kind,
      who && vscode.l10n.t('by {0}', who),
    ]
      .filter((part) => part)
      .join(', '),
    icon: commandIcon(command),
    contextValue: isStopping && state === 'running' ? 'command.stopping' : `command.${state}`,
  };
}

function commandIcon(command: CommandSnapshot): vscode.ThemeIcon {
  if (command.state === 'queued') return icon('clock');
  if (command.state === 'running') {
    return command.background ? icon('server-process', 'charts.green') : icon('loading~spin');
  }
  if (succeeded(command)) return icon('pass', 'testing.iconPassed');
  if (command.outcome === 'cancelled') return icon('circle-slash', 'testing.iconSkipped');
  if (command.outcome === 'timed_out') return icon('watch', 'testing.iconFailed');
  return icon('error', 'testing.iconFailed');
}
