import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onInterrupt } from './interrupt.mjs';
import { run, withProgress } from './run.mjs';
import { ensureSystemPackages, packagesToBuildTheEditor } from './system-packages.mjs';

/** The real VS Code we run and test in where there is no desktop one. */
const version = '4.139.1';
const nodeVersion = '24.21.0';

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'limpet');

const home = join(cache, `code-server-${version}`);

export function isCodeServerInstalled() {
  const { node, entry } = installationIn(home);
  return existsSync(entry) && existsSync(node);
}

/** The programs to start code-server with, where it is installed. */
export function installedCodeServer() {
  if (isCodeServerInstalled()) return installationIn(home);
  throw new Error('code-server is not installed. Run: node scripts/test.mjs install');
}

function installationIn(folder) {
  return {
    node: join(folder, 'node_modules', 'node', 'bin', 'node'),
    entry: join(folder, 'node_modules', 'code-server', 'out', 'node', 'entry.js'),
  };
}

/** Answers with the programs to start code-server with; installs it on first use, which takes some minutes. */
export async function ensureCodeServer() {
  if (isCodeServerInstalled()) return installedCodeServer();
  await ensureSystemPackages(packagesToBuildTheEditor);
  await mkdir(cache, { recursive: true });
  // Built beside its final place and renamed, so that an interrupted installation is never taken for a whole one.
  const building = await mkdtemp(join(cache, 'installing-'));
  const remove = () => rm(building, { recursive: true, force: true });
  const forget = onInterrupt(remove);
  try {
    await withProgress(`Installing code-server ${version} (once; 2 to 5 minutes, 750 MB)`, () => installInto(building));
    await rm(home, { recursive: true, force: true });
    await rename(building, home);
  } finally {
    forget();
    await remove();
  }
  return installedCodeServer();
}

async function installInto(folder) {
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, allowScripts: { node: true, 'code-server': true, argon2: true } }),
  );
  const npm = (args, env) =>
    run('npm', ['install', '--no-audit', '--no-fund', ...args], { quiet: true, cwd: folder, env });
  const { node, entry } = installationIn(folder);
  const env = cleanEnvironment();
  await npm([`node@${nodeVersion}`], env);
  // npm itself must run on this Node: code-server compiles its native modules for the one that installs it.
  const path = `${dirname(node)}${delimiter}${env.PATH ?? ''}`;
  await npm([`code-server@${version}`], { ...env, PATH: path });
  await run(node, [entry, '--version'], { quiet: true });
}

/** Under `npm run`, the environment speaks of this project; the other installation must not take that for its own. */
function cleanEnvironment() {
  const ours =
    /^npm_(package|lifecycle|execpath|node_execpath|command|config_(local_prefix|global_prefix|user_agent|node_gyp))/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await ensureCodeServer();
