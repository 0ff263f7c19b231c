import * as vscode from 'vscode';
import type { CommandSnapshot } from '../../protocol/values';

/** A command on one line, shortened. */
export function brief(command: string, width = 80): string {
  const flat = command.trim().replace(/\s+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, width - 1)}…`;
}

/** How long something took, as exactly as it matters. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return elapsed(ms);
}

/** How long something has been going on, in whole seconds. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How a command ended: a word or two. */
export function ending({ outcome, exitCode, signal }: Partial<CommandSnapshot>): string {
  switch (outcome) {
    case 'cancelled':
      return vscode.l10n.t('cancelled');
    case 'timed_out':
      return vscode.l10n.t('timed out');
    case 'signaled':
      return signal ?? vscode.l10n.t('killed');
    case 'shell_exited':
      return vscode.l10n.t('exit {0}, shell ended', exitCode ?? '?');
    default:
      return vscode.l10n.t('exit {0}', exitCode ?? '?');
  }
}

export const succeeded = ({ outcome, exitCode }: Partial<CommandSnapshot>) =>
  (outcome === 'exited' || outcome === 'shell_exited') && exitCode === 0;

/** To someone who would give a command input. */
export const noInput = () =>
  vscode.l10n.t('This command takes no input. Commands that are typed in an attached terminal do.');

/** Who ran it; nothing for the usual case, an agent through this editor. */
export function byWhom(origin: string): string | undefined {
  if (origin === 'person') return vscode.l10n.t('you');
  return origin === 'vscode' || origin === 'unknown' ? undefined : origin;
}
