import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, until } from './run.mjs';

const settings = {
  'security.workspace.trust.startupPrompt': 'never',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'workbench.startupEditor': 'none',
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'chat.disableAIFeatures': true,
  'window.restoreWindows': 'none',
};

/** A temporary home for one editor: its profile, its extensions, a copy of the sample workspace, and a sidecar of its own. */
export async function createPlayground() {
  // A short path: a Unix socket in the runtime directory must fit into about 100 bytes.
  const folder = await mkdtemp(join(tmpdir(), 'limpet-'));
  const at = (name) => join(folder, name);
  const playground = {
    folder,
    userData: at('user'),
    extensions: at('extensions'),
    workspace: at('sample'),
    runtimeDir: at('run'),
    stateDir: at('state'),
    env: { ...editorEnvironment(), LIMPET_RUNTIME_DIR: at('run'), LIMPET_STATE_DIR: at('state') },
    /** Ends what the editor left running (the sidecar outlives it on purpose) and removes everything. */
    async dispose() {
      await endAll(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await cp(join(root, 'sample'), playground.workspace, { recursive: true });
  await mkdir(join(playground.userData, 'User'), { recursive: true });
  await writeFile(join(playground.userData, 'User', 'settings.json'), JSON.stringify(settings, null, 2));
  return playground;
}

/** When we are started from a terminal inside an editor, its variables must not reach the one we start. */
function editorEnvironment() {
  const foreign = /^(VSCODE_|ELECTRON_|npm_|LIMPET_|CODE_SERVER_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

async function endAll(folder) {
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    for (const pid of await processesOf(folder)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended in the meantime.
      }
    }
    const gone = await until('the end of all processes', async () => (await processesOf(folder)).length === 0, {
      timeoutMs: 5000,
    }).catch(() => false);
    if (gone) return;
  }
}

/** The processes that were started for a playground: its path is in their environment. */
export async function processesOf(folder) {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      if (pid === process.pid) return undefined;
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (!environment.includes(`LIMPET_RUNTIME_DIR=${folder}/`)) return undefined;
      // A process that ended and waits to be reaped has no program any more.
      return (await readlink(`/proc/${pid}/exe`).catch(() => undefined)) && pid;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}
