import type { CommandSnapshot, SessionInfo } from '../protocol/values';

export function ago(since: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let amount = bytes / 1024;
  let at = 0;
  while (amount >= 1024 && at < units.length - 1) {
    amount /= 1024;
    at++;
  }
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${units[at]}`;
}

/** A command on one line, shortened. */
export function brief(command: string, width = 60): string {
  const flat = command.trim().replace(/\s+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, width - 1)}…`;
}

export function ending(command: CommandSnapshot): string {
  if (command.state !== 'finished') return command.state;
  if (command.outcome === 'exited' || command.outcome === 'shell_exited') return `exit ${command.exitCode ?? '?'}`;
  if (command.outcome === 'signaled') return command.signal ?? 'signal';
  return (command.outcome ?? 'finished').replace('_', ' ');
}

export function sessionLines(session: SessionInfo): [string, string][] {
  return [
    ['id', session.sessionId],
    ['name', session.name],
    ['shell', `${session.shell} (${session.shellPath})`],
    ['state', session.state],
    ['pid', String(session.pid ?? '-')],
    ['cwd', session.cwd],
    ['running', session.runningCommand === undefined ? '-' : brief(session.runningCommand.command)],
    ['background', String(session.backgroundCount)],
    ['restarts', String(session.restarts)],
    ['created', session.createdAt],
    ['last active', session.lastActiveAt],
    ...session.notes.map((note): [string, string] => ['note', note]),
  ];
}
