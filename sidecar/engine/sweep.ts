import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processesOfSession } from '../processes/command-processes';
import { identify, isAlive, type ProcessIdentity } from '../processes/identity';
import { killAll } from '../processes/kill-ladder';

const ownerFile = 'owner';
/** A directory without an owner is left alone for so long: its sidecar may be about to name itself. */
const unownedForMs = 10_000;

/** Marks a session directory as this process's. */
export function own(directory: string): void {
  writeFileSync(join(directory, ownerFile), JSON.stringify(identify(process.pid)), { mode: 0o600 });
}

/** Removes the session directories of sidecars that are gone, with what still runs in them; counts them. */
export async function sweep(root: string): Promise<number> {
  const orphans = readdirSync(root).filter((name) => isOrphan(join(root, name)));
  await Promise.all(
    orphans.map(async (name) => {
      const directory = join(root, name);
      await killAll(() => processesOfSession({ sessionId: name, directory, shell: undefined, since: undefined }));
      rmSync(directory, { recursive: true, force: true });
    }),
  );
  return orphans.length;
}

function isOrphan(directory: string): boolean {
  try {
    const owner = JSON.parse(readFileSync(join(directory, ownerFile), 'utf8')) as ProcessIdentity;
    return !isAlive(owner);
  } catch {
    return Date.now() - statSync(directory).mtimeMs > unownedForMs;
  }
}
