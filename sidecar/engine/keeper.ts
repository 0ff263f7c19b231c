import { spawn } from 'node:child_process';
import { failure } from '../../protocol/errors';
import { holdersOf } from '../processes/command-processes';
import { identify, type ProcessIdentity } from '../processes/identity';
import { needDescriptors } from '../processes/need-descriptors';
import { quote } from '../shells/dialect';
import { describeTrouble } from '../system-failure';

/** The plainest shell's redirections reach up to 9; 1 and 2 are needed while the keeper starts. */
const descriptors = [0, 3, 4, 5, 6, 7, 8, 9];

/** What a keeper is, and is known by. */
export const keeping = 'sleep 2147483647';

/** Two ends of two streams, and what Node itself opens meanwhile. */
const descriptorsToSpawn = 8;

/**
 * Makes FIFOs, and a process that holds some of them open for reading and reads nothing. What is in a FIFO is gone when the
 * last one closes it: with the keeper, what a command printed while there was no sidecar waits for the next one. A reader
 * does not keep a FIFO from looking closed to the sidecar, which a writer would.
 */
export function makeKeptFifos(kept: readonly string[], others: readonly string[]): Promise<ProcessIdentity> {
  return startKeeper(kept, `mkfifo -m 600 ${[...kept, ...others].map(quote).join(' ')} || exit`);
}

/** A keeper for FIFOs that are there, and have none. */
export function keepFifos(kept: readonly string[]): Promise<ProcessIdentity> {
  return startKeeper(kept, ':');
}

/** Who keeps a FIFO, for when a sidecar had no time to note it. */
export function keeperOf(fifo: string): ProcessIdentity | undefined {
  const keeper = holdersOf([fifo], { except: [], since: undefined }).find(({ command }) => command.includes(keeping));
  return keeper === undefined ? undefined : identify(keeper.pid);
}

async function startKeeper(kept: readonly string[], first: string): Promise<ProcessIdentity> {
  const opens = kept.map((path, at) => `2<>${quote(path)} ${descriptors[at]}<${quote(path)}`);
  const script = [
    first,
    `exec ${opens.join(' ')} 2>/dev/null`,
    // Whoever asked for it may be gone by now; whoever comes next needs it all the same.
    'trap "" PIPE',
    'printf k 2>/dev/null',
    `exec ${keeping} >/dev/null`,
  ].join('\n');
  needDescriptors(descriptorsToSpawn);
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  child.unref();
  // Without a descriptor left there are no streams, and only the error tells.
  const { stdout, stderr } = child as Partial<Pick<typeof child, 'stdout' | 'stderr'>>;
  let said = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const isReady = await new Promise<boolean>((resolve) => {
    stdout?.once('data', () => resolve(true));
    child.once('error', (error) => {
      said = describeTrouble(error) ?? error.message;
      resolve(false);
    });
    child.once('close', () => resolve(false));
  });
  stdout?.destroy();
  stderr?.destroy();
  const identity = isReady && child.pid !== undefined ? identify(child.pid) : undefined;
  if (identity !== undefined) return identity;
  throw failure.shellStartFailed(
    `The session's FIFOs could not be made: ${said.split('\n')[0] || 'the reason is unknown'}. Is the runtime directory writable?`,
  );
}
