import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onInterrupt } from './interrupt.mjs';
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
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'editor.minimap.enabled': false,
  'window.restoreWindows': 'none',
};

/** A temporary home for one editor: its profile, its extensions, a copy of the sample workspace, and a sidecar of its own. */
export async function createPlayground(furtherSettings = {}) {
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
    env: {
      ...editorEnvironment(),
      LIMPET_RUNTIME_DIR: at('run'),
      LIMPET_STATE_DIR: at('state'),
      // VS Code leaves sockets where these point to.
      TMPDIR: at('tmp'),
      XDG_RUNTIME_DIR: at('tmp'),
    },
    /** Ends what the editor left running (the sidecar outlives it on purpose) and removes everything. */
    async dispose() {
      forget();
      await endAll(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  const forget = onInterrupt(() => playground.dispose());
  await cp(join(root, 'sample'), playground.workspace, { recursive: true });
  await mkdir(at('tmp'), { mode: 0o700 });
  await mkdir(join(playground.userData, 'User'), { recursive: true });
  await writeFile(
    join(playground.userData, 'User', 'settings.json'),
    JSON.stringify({ ...settings, ...furtherSettings }, null, 2),
  );
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
    const nothingLeft = async () => (await processesOf(folder)).length === 0;
    if (await until('the end of all processes', nothingLeft, { timeoutMs: 5000 }).catch(() => false)) return;
  }
  throw new Error(`These processes cannot be ended: ${(await processesOf(folder)).join(', ')}`);
}

/** What was started for a playground, however it was detached. */
async function processesOf(folder) {
  return process.platform === 'linux' ? processesWithEnvironment(folder) : describedSidecars(folder);
}

async function processesWithEnvironment(folder) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return pid !== process.pid && environment.includes(`TMPDIR=${folder}/`) ? pid : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}

/** Elsewhere only the sidecar survives its editor, and it leaves a file with its process id. */
async function describedSidecars(folder) {
  const names = await readdir(join(folder, 'run')).catch(() => []);
  const pids = names.map((name) => Number(/^sidecar-(\d+)\.json$/.exec(name)?.[1])).filter((pid) => pid > 1);
  return pids.filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });
}
