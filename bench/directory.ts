import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In memory where that is possible, as a user's runtime directory is; every contender's FIFOs live there. */
export const fastDirectory = (purpose: string): Promise<string> =>
  mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `limpet-bench-${purpose}-`));

/** On disk, as logs are. */
export const ordinaryDirectory = (purpose: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `limpet-bench-${purpose}-`));
