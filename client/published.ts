import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

/** How a command ended; that nobody can print to its log any more. */
export type Published = 'exit' | 'done';

const endings: Record<Published, string> = { exit: '.exit', done: '.labelers.done' };

export interface PublishedOptions {
  signal?: AbortSignal;
  /** How often to look besides watching. */
  everyMs?: number;
}

/**
 * Waits for a file that is published beside a log; whether it came before the signal. It needs no connection. The directory is
 * watched and polled, because a watch alone misses files on some file systems. A log that had to make room for others gets no
 * more files, so whoever does not want to wait for ever has a signal.
 */
export function untilPublished(
  logPath: string,
  what: Published,
  { signal, everyMs = 100 }: PublishedOptions = {},
): Promise<boolean> {
  const path = logPath.replace(/\.log$/, '') + endings[what];
  return new Promise((resolve) => {
    const end = (isThere: boolean) => {
      clearInterval(timer);
      watcher?.close();
      signal?.removeEventListener('abort', onAbort);
      resolve(isThere);
    };
    const look = () => {
      if (existsSync(path)) end(true);
    };
    const onAbort = () => end(existsSync(path));
    const timer = setInterval(look, everyMs);
    const watcher = watchOrNone(dirname(path), look);
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
    else look();
  });
}

/** None where the directory is not there yet or no more watches are to be had: then polling alone has to do. */
function watchOrNone(directory: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
