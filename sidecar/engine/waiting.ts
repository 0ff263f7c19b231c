import { existsSync, type FSWatcher, watch as watchDirectory } from 'node:fs';
import { connect } from 'node:net';
import { dirname, resolve as resolvePath } from 'node:path';
import type { Result } from '../../protocol/methods';
import type { WaitCondition } from '../../protocol/values';
import { OutputWatch } from '../output/output-watch';
import { Pattern } from '../output/pattern';
import type { Command } from './command';
import { watchInput } from './input-watch';

type Met = Result<'exec.wait'>['met'];
/** Begins to look for something and calls back once it is there, or cannot be looked for; the answer ends the looking. */
type Watch = (met: () => void, failed: (reason: unknown) => void) => () => void;

const pollMs = 25;

interface NamedWatch {
  name: Met;
  watch: Watch;
  /** Resolves when what was there before the wait has been looked at, once the watch has begun. */
  pastSeen?: () => Promise<void>;
}

export interface WaitContext {
  cwd: string;
  waitsForInput: () => boolean;
}

/** Waits until one of the conditions holds. The command's own end always ends the wait. */
export async function waitFor(
  command: Command,
  conditions: readonly WaitCondition[],
  { cwd, waitsForInput }: WaitContext,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Met> {
  const watches = conditions.map((condition) => watchFor(command, condition, cwd, waitsForInput));
  const stops: (() => void)[] = [];
  try {
    return await new Promise<Met>((resolve, reject) => {
      for (const { name, watch } of watches) stops.push(watch(() => resolve(name), reject));
      // What was printed before the wait counts, also when the command has ended since or the time is over.
      const pastSeen = Promise.all(watches.map((watch) => watch.pastSeen?.()));
      const onceSeen = (met: Met) => () => void pastSeen.then(() => resolve(met), reject);
      pastSeen.catch(reject);
      stops.push(command.whenFinished(onceSeen('exit')));
      if (timeoutMs !== undefined) {
        const timer = setTimeout(onceSeen('timeout'), timeoutMs);
        stops.push(() => clearTimeout(timer));
      }
      if (signal !== undefined) {
        const onAbort = () => resolve('timeout');
        if (signal.aborted) onAbort();
        signal.addEventListener('abort', onAbort);
        stops.push(() => signal.removeEventListener('abort', onAbort));
      }
    });
  } finally {
    for (const stop of stops) stop();
  }
}

function watchFor(command: Command, condition: WaitCondition, cwd: string, waitsForInput: () => boolean): NamedWatch {
  if ('output' in condition) {
    const watch = new OutputWatch(command.output, new Pattern(condition.output, 'output'));
    return { name: 'output', watch: (met, failed) => watch.begin(met, failed), pastSeen: () => watch.pastSeen };
  }
  if ('port' in condition) return { name: 'port', watch: watchPort(condition.port) };
  if ('silenceMs' in condition) return { name: 'silence_ms', watch: watchSilence(command, condition.silenceMs) };
  if ('file' in condition) return { name: 'file', watch: watchFile(resolvePath(cwd, condition.file)) };
  if ('input' in condition) return { name: 'input', watch: (met) => watchInput(command, waitsForInput, met) };
  return { name: 'exit', watch: () => () => {} };
}

function watchSilence(command: Command, ms: number): Watch {
  return (met) => {
    const began = performance.now();
    let timer: NodeJS.Timeout;
    const check = () => {
      const left = Math.max(began, command.output.lastOutputAt) + ms - performance.now();
      if (left <= 0) met();
      else timer = setTimeout(check, left);
    };
    timer = setTimeout(check, ms);
    return () => clearTimeout(timer);
  };
}

/** On either address family: a server may listen on one only. */
function watchPort(port: number): Watch {
  return (met) => {
    let isOver = false;
    const attempt = (host: string) => {
      if (isOver) return;
      const again = () => void setTimeout(() => attempt(host), pollMs).unref();
      const socket = connect({ host, port });
      socket.unref();
      socket.once('connect', () => {
        // Where nobody listens, a connection from that very port meets itself.
        const isItself = socket.localPort === port;
        socket.destroy();
        if (isItself) again();
        else if (!isOver) met();
      });
      socket.once('error', again);
    };
    attempt('127.0.0.1');
    attempt('::1');
    return () => {
      isOver = true;
    };
  };
}

/** How a file is noticed; either way is enough. */
export interface FileWatching {
  watch?: (directory: string, onChange: () => void) => FSWatcher;
  everyMs?: number;
}

/**
 * Both watches and polls. A watch tells at once, but misses things on some file systems, and there may be no more of them to
 * be had. What is watched is the nearest directory that exists, until one that is nearer comes.
 */
export function watchFile(path: string, { watch = watchDirectory, everyMs = pollMs }: FileWatching = {}) {
  return (met: () => void) => {
    let watched: string | undefined;
    let watcher: FSWatcher | undefined;
    const watchAt = (directory: string) => {
      watcher?.close();
      watcher = undefined;
      watched = directory;
      try {
        const begun = watch(directory, look);
        begun.on('error', () => begun.close());
        watcher = begun;
      } catch {
        // Then polling alone has to do.
      }
    };
    const look = () => {
      while (!existsSync(path)) {
        const directory = nearestDirectory(path);
        if (directory === watched) return;
        // Then it is looked for once more: it may have come before the watch began.
        watchAt(directory);
      }
      met();
    };
    const timer = setInterval(look, everyMs);
    look();
    return () => {
      clearInterval(timer);
      watcher?.close();
    };
  };
}

/** The nearest directory above a path that exists. */
function nearestDirectory(path: string): string {
  const parent = dirname(path);
  return parent === path || existsSync(parent) ? parent : nearestDirectory(parent);
}
