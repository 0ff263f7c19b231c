import fs from 'node:fs';
import path from 'node:path';
import { type Descriptor, descriptor } from '../protocol/descriptor';
import { isDescriptorName } from '../protocol/places';
import { isOwnDirectory } from './own-directory';

/** No descriptor is as long; reading one that is could take many seconds. */
const mostBytes = 64 * 1024;

export interface Runtime extends Descriptor {
  descriptorPath: string;
}

/** The sidecars that are alive on a runtime directory; what dead ones left of their descriptors is removed. */
export function findRuntimes(runtimeDir: string): Runtime[] {
  if (!isOwnDirectory(runtimeDir)) return [];
  const living: Runtime[] = [];
  for (const name of listDirectory(runtimeDir).filter(isDescriptorName)) {
    const descriptorPath = path.join(runtimeDir, name);
    const found = readDescriptor(descriptorPath);
    if (found === undefined) continue;
    if (isAlive(found)) living.push({ ...found, descriptorPath });
    else fs.rmSync(descriptorPath, { force: true });
  }
  return living.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}

function listDirectory(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return [];
  }
}

function readDescriptor(file: string): Descriptor | undefined {
  try {
    if (fs.statSync(file).size > mostBytes) return undefined;
    return descriptor.parse(JSON.parse(fs.readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** A pid alone may by now belong to someone else, so its start time is compared where the platform tells it. */
function isAlive({ pid, processStart }: Descriptor): boolean {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (processStart === null) return true;
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[19] === processStart && fields[0] !== 'Z';
  } catch {
    return false;
  }
}
