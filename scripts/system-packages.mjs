import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, withProgress } from './run.mjs';

/** How to notice that a Debian package is missing: by its program, or by a file of it. */
const evidence = {
  chromium: () => onPath('chromium') !== undefined,
  curl: () => onPath('curl') !== undefined,
  'g++': () => onPath('g++') !== undefined,
  'libkrb5-dev': () => existsSync('/usr/include/gssapi/gssapi.h'),
  make: () => onPath('make') !== undefined,
  'pkg-config': () => onPath('pkg-config') !== undefined,
  python3: () => onPath('python3') !== undefined,
  socat: () => onPath('socat') !== undefined,
  strace: () => onPath('strace') !== undefined,
  tmux: () => onPath('tmux') !== undefined,
  zsh: () => onPath('zsh') !== undefined,
};

export const packagesToBuildTheEditor = ['g++', 'libkrb5-dev', 'make', 'pkg-config', 'python3'];
export const packagesToTest = ['chromium', 'curl', 'socat', 'strace', 'tmux', 'zsh'];

export function onPath(program) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder !== '' && existsSync(join(folder, program))) return join(folder, program);
  }
  return undefined;
}

/** Installs what is missing where we may; elsewhere the error holds the exact command to type. */
export async function ensureSystemPackages(names) {
  const missing = names.filter((name) => !evidence[name]());
  if (missing.length === 0) return;
  const install = `apt-get install -y --no-install-recommends ${missing.join(' ')}`;
  if (process.platform !== 'linux' || onPath('apt-get') === undefined) {
    throw new Error(`These programs are missing: ${missing.join(', ')}. Install them with your package manager.`);
  }
  if (process.getuid?.() !== 0) {
    throw new Error(`Some system packages are missing. Install them with:\n\n  sudo ${install}\n`);
  }
  await withProgress(`Installing ${missing.join(', ')}`, async () => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await run('apt-get', ['update', '-qq'], { quiet: true, env });
    await run('apt-get', install.split(' ').slice(1), { quiet: true, env });
  });
}
