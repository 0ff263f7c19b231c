import fs from 'node:fs';
import type { DescribedTransport, Descriptor } from '../../protocol/descriptor';
import { descriptorPath } from '../../protocol/places';
import { productVersion, protocolVersion } from '../../protocol/version';

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
  fs.writeFileSync(`${path}.new`, `${JSON.stringify(described, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(`${path}.new`, path);
  return () => fs.rmSync(path, { force: true });
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
