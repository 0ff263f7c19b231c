import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { SidecarClient } from '../../client/client';
import { fastDirectory, ordinaryDirectory } from '../directory';
import { takeTurns } from '../measure';
import { spawnedBash } from '../rivals/spawned-bash';
import { figure, type Row } from '../table';

const ping = '{"id":"1","method":"system.ping","params":{}}\n';
const idleMb = 90;

/** The sidecar as it is shipped: a command over its pipe, its start, and what it takes while idle. */
export async function sidecar(): Promise<Row[]> {
  const [runtimeDir, stateDir, out] = [
    await fastDirectory('pipe'),
    await ordinaryDirectory('pipe-state'),
    await mkdtemp(join(tmpdir(), 'limpet-bench-build-')),
  ];
  const program = join(out, 'sidecar.js');
  await build({
    entryPoints: ['sidecar/main.ts'],
    outfile: program,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    logLevel: 'error',
  });
  const env = { ...process.env, LIMPET_RUNTIME_DIR: runtimeDir, LIMPET_STATE_DIR: stateDir };
  const client = await SidecarClient.connect({ clientName: 'bench', sidecarPath: program, runtimeDir, env });
  try {
    const idle = residentMb(client.sidecar.pid);
    const { sessionId } = await client.request('session.create', { shell: 'bash' });
    const bash = spawnedBash();
    const run = () => client.request('exec.run', { sessionId, command: 'true' });
    for (let i = 0; i < 1000; i++) await run();
    const [ours = Number.NaN, spawned = Number.NaN] = await takeTurns(
      [
        { name: 'pipe', block: 25, once: run },
        { name: bash.name, block: 3, once: () => bash.run('true') },
      ],
      40,
    );
    const [started = Number.NaN, node = Number.NaN] = await takeTurns(
      [
        { name: 'sidecar', once: () => firstAnswer(program, env) },
        { name: 'node -e 0', once: () => once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'close') },
      ],
      15,
    );
    return [
      {
        what: 'true over the pipe, p50, against bash -c',
        ours: figure(ours, 'ms'),
        rival: figure(spawned, 'ms'),
        ratio: ours / spawned,
        target: { atMost: 0.2 },
      },
      {
        what: 'start of the sidecar to its first answer, p50, against node -e 0',
        ours: figure(started, 'ms'),
        rival: figure(node, 'ms'),
        ratio: started / node,
        target: { atMost: 3 },
      },
      {
        what: `resident set of an idle sidecar, share of ${idleMb} MB`,
        ours: figure(idle, 'MB'),
        rival: '',
        ratio: idle / idleMb,
        target: { atMost: 1 },
      },
    ];
  } finally {
    const { pid } = client.sidecar;
    await client.request('system.shutdown', {});
    client.dispose();
    while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const made of [runtimeDir, stateDir, out]) await rm(made, { recursive: true, force: true });
  }
}

async function firstAnswer(program: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [program, '--stdin'], { stdio: ['pipe', 'pipe', 'ignore'], env });
  child.stdin.write(ping);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;
}
