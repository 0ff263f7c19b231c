import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { endGroup } from './end-group.mjs';
import { onInterrupt } from './interrupt.mjs';
import { run, until } from './run.mjs';

const foldersOf = ({ userData, extensions }) => ['--user-data-dir', userData, '--extensions-dir', extensions];

/** Installs packages into a playground as a user would. */
export async function installExtensions({ node, entry }, playground, vsixs) {
  const asked = vsixs.flatMap((vsix) => ['--install-extension', vsix]);
  await run(node, [entry, ...foldersOf(playground), ...asked], { quiet: true, env: playground.env });
}

/** Starts code-server for a playground, with the given packages installed, and answers once its window can be opened. */
export async function startWorkbench({ node, entry }, playground, { vsixs = [], trustAll = true }) {
  if (vsixs.length > 0) await installExtensions({ node, entry }, playground, vsixs);
  const folders = foldersOf(playground);
  const port = await freePort();
  const args = ['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check'];
  if (trustAll) args.push('--disable-workspace-trust');
  const server = spawn(node, [entry, ...folders, ...args, playground.workspace], {
    // A group of its own, so that Ctrl-C reaches us first and everything can be ended in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: playground.env,
  });
  const log = createWriteStream(join(playground.folder, 'editor.log'));
  server.stdout.pipe(log);
  server.stderr.pipe(log);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  let running = true;
  void ended.then(() => {
    running = false;
  });
  const stop = async () => {
    forget();
    await endGroup(server);
  };
  const forget = onInterrupt(stop);
  const origin = `http://127.0.0.1:${port}`;
  try {
    await until('code-server to answer', async () => {
      if (!running) throw new Error(`code-server ended; see its output in ${log.path}`);
      return fetch(`${origin}/healthz`).then(
        (response) => response.ok,
        () => false,
      );
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `${origin}/?folder=${encodeURIComponent(playground.workspace)}`, origin, ended, stop };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
