import fs from 'node:fs';
import {
  findRuntimes,
  runtimeDirectoryOf,
  type SidecarClient,
  sidecarLogPath,
  stateDirectoryOf,
} from '../../client/client';
import type { Command, Context } from '../command';

interface Finding {
  ok: boolean;
  subject: string;
  found: string;
  fix?: string;
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check what Limpet needs and say how to fix what is missing',
  usage: `limpet doctor [--json]

Ends with 1 if something has to be fixed.`,
  options: {},

  async run(context) {
    const { screen, env } = context;
    const findings = [
      node(),
      directory('runtime directory', runtimeDirectoryOf(env), 'LIMPET_RUNTIME_DIR'),
      directory('state directory', stateDirectoryOf(env), 'LIMPET_STATE_DIR'),
      ...(await sidecar(context)),
      { ok: true, subject: 'log', found: sidecarLogPath(env) },
    ];
    if (screen.json) screen.data({ findings });
    else {
      for (const { ok, subject, found, fix } of findings) {
        const mark = ok ? screen.paint('green', 'ok  ') : screen.paint('red', 'fix ');
        screen.line(`${mark} ${subject.padEnd(18)} ${found}`);
        if (fix !== undefined) screen.line(`     ${' '.repeat(18)} ${screen.paint('yellow', fix)}`);
      }
    }
    return findings.every(({ ok }) => ok) ? 0 : 1;
  },
};

function node(): Finding {
  const ok = Number(process.versions.node.split('.')[0]) >= 20;
  return { ok, subject: 'node', found: process.version, ...(ok ? {} : { fix: 'Install Node 20 or newer.' }) };
}

function directory(subject: string, path: string, variable: string): Finding {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { ok: true, subject, found: `${path} (made when needed)` };
  const foreign = process.getuid !== undefined && found.uid !== process.getuid();
  if (!found.isDirectory() || foreign) {
    return { ok: false, subject, found: `${path} is not a directory of yours`, fix: `Remove it, or set ${variable}.` };
  }
  if ((found.mode & 0o022) !== 0) {
    return { ok: false, subject, found: `${path} can be changed by others`, fix: `chmod 700 ${path}` };
  }
  return { ok: true, subject, found: path };
}

async function sidecar({ connect, env }: Context): Promise<Finding[]> {
  let client: SidecarClient;
  try {
    client = await connect();
  } catch (thrown) {
    const found = thrown instanceof Error ? thrown.message : 'does not answer';
    return [{ ok: false, subject: 'sidecar', found, fix: `Look into ${sidecarLogPath(env)}.` }];
  }
  const described = await client.request('runtime.describe', {});
  const others = findRuntimes(runtimeDirectoryOf(env)).length;
  return [
    {
      ok: true,
      subject: 'sidecar',
      found: `version ${described.version}, protocol ${described.protocolVersion}, pid ${described.pid}, ${described.platform}`,
    },
    { ok: true, subject: 'running sidecars', found: String(others) },
    described.shells.length > 0
      ? {
          ok: true,
          subject: 'shells',
          found: described.shells.map(({ name, version, path }) => `${name} ${version} (${path})`).join(', '),
        }
      : { ok: false, subject: 'shells', found: 'none', fix: 'Install bash or zsh.' },
    { ok: true, subject: 'features', found: described.features.join(', ') },
    {
      ok: true,
      subject: 'limits',
      found: Object.entries(described.limits)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    },
  ];
}
