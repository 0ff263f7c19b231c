import fs from 'node:fs';
import type { DescribedTransport, Descriptor } from '../../protocol/descriptor';
import { descriptorPath, isDescriptorName } from '../../protocol/places';
import { productVersion, protocolVersion } from '../../protocol/version';

const unfinished = '.new';

/** Writes what others need to find this process; replaced whole, so nobody reads half of it. */
export function writeDescriptor(runtimeDir: string, stateDir: string, transports: DescribedTransport[]): () => void {
  const described: Descriptor = {
    name: 'limpet',
    version: productVersion,
    protocolVersion,
    pid: process.pid,
    processStart: processStart(),
    startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
    stateDir,
    transports,
  };
  const path = descriptorPath(runtimeDir, process.pid);
  fs.writeFileSync(path + unfinished, `${JSON.stringify(described, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(path + unfinished, path);
  removeThoseOfTheDead(runtimeDir);
  return () => fs.rmSync(path, { force: true });
}

/** What killed sidecars could not remove; whoever looks for one passes over them meanwhile. */
function removeThoseOfTheDead(runtimeDir: string): void {
  for (const name of fs.readdirSync(runtimeDir)) {
    if (!isDescriptorName(name.endsWith(unfinished) ? name.slice(0, -unfinished.length) : name)) continue;
    if (!isGone(Number(/\d+/.exec(name)?.[0]))) continue;
    try {
      fs.rmSync(`${runtimeDir}/${name}`, { force: true });
    } catch {
      // No file, so no descriptor of ours.
    }
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** The kernel's start time of this process; the command name before it may itself hold spaces and brackets. */
function processStart(): string | null {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
