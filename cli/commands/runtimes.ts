import { findRuntimes, type Runtime, runtimeDirectoryOf } from '../../client/client';
import type { Command } from '../command';
import { ago } from '../readable';

export const runtimes: Command = {
  name: 'runtimes',
  summary: 'List the sidecars that are running',
  usage: `limpet runtimes [--json]

What dead ones left behind is removed.`,
  options: {},

  async run({ screen, env }) {
    const living = findRuntimes(runtimeDirectoryOf(env));
    if (screen.json) screen.data({ runtimes: living.map(asLine) });
    else {
      screen.table(
        ['PID', 'VERSION', 'AGE', 'TRANSPORTS'],
        living.map((runtime) => [
          String(runtime.pid),
          runtime.version,
          ago(runtime.startedAt),
          runtime.transports.map(address).join(', '),
        ]),
      );
    }
    return 0;
  },
};

function asLine(runtime: Runtime) {
  return {
    pid: runtime.pid,
    version: runtime.version,
    protocol_version: runtime.protocolVersion,
    started_at: runtime.startedAt,
    state_dir: runtime.stateDir,
    transports: runtime.transports.map((transport) =>
      transport.kind === 'http'
        ? { kind: transport.kind, url: transport.url, token_path: transport.tokenPath }
        : transport,
    ),
  };
}

function address(transport: Runtime['transports'][number]): string {
  if ('path' in transport) return `${transport.kind} ${transport.path}`;
  return 'url' in transport ? transport.url : transport.kind;
}
