import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { downloadAndUnzipVSCode, resolveCliArgsFromVSCodeExecutablePath, runTests } from '@vscode/test-electron';
import { onInterrupt } from './interrupt.mjs';
import { run } from './run.mjs';
import { onPath } from './system-packages.mjs';

/** The program of the installed desktop VS Code; where there is none, test-electron downloads one. */
export async function findDesktop() {
  const command = onPath('code');
  const bin = command && dirname(realpathSync(command));
  const candidates = bin ? [join(bin, '..', 'code'), join(bin, '..', '..', '..', 'MacOS', 'Electron')] : [];
  return candidates.find((path) => existsSync(path)) ?? downloadAndUnzipVSCode('stable');
}

const foldersOf = (playground) => [
  `--user-data-dir=${playground.userData}`,
  `--extensions-dir=${playground.extensions}`,
];

export async function runInDesktop(executable, playground, { vsix, host, env }) {
  const [cli, ...args] = resolveCliArgsFromVSCodeExecutablePath(executable, { reuseMachineInstall: true });
  await run(cli, [...args, ...foldersOf(playground), '--install-extension', vsix], {
    quiet: true,
    env: playground.env,
  });
  await runTests({
    vscodeExecutablePath: executable,
    extensionDevelopmentPath: host,
    extensionTestsPath: join(host, 'out', 'host', 'main.js'),
    extensionTestsEnv: { ...playground.env, ...env },
    launchArgs: [playground.workspace, '--disable-workspace-trust', ...foldersOf(playground)],
  });
}

/** Opens the desktop VS Code on a playground; `ended` resolves when its window is closed. */
export async function openDesktop(command, playground, vsix) {
  const { env } = playground;
  await run(command, [...foldersOf(playground), '--install-extension', vsix], { quiet: true, env });
  const args = [...foldersOf(playground), '--disable-workspace-trust', '--new-window', '--wait', playground.workspace];
  const child = spawn(command, args, { detached: true, stdio: 'ignore', env });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const stop = async () => {
    forget();
    // The command only waits: the program itself left its process id in its profile.
    const lock = await readFile(join(playground.userData, 'code.lock'), 'utf8').catch(() => '');
    const pid = Number.parseInt(lock, 10);
    for (const target of [pid, -child.pid]) {
      try {
        if (Number.isInteger(target) && target !== 0) process.kill(target, 'SIGTERM');
      } catch {
        // It has ended already.
      }
    }
    await ended;
  };
  const forget = onInterrupt(stop);
  return { ended, stop };
}
