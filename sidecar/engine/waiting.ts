import { existsSync, type FSWatcher, watch as watchDirectory } from 'node:fs';
import { connect } from 'node:net';
import { dirname, resolve as resolvePath } from 'node:path';
import type { Result } from '../../protocol/methods';
import type { StreamName, WaitCondition } from '../../protocol/values';
import { compilePattern } from '../output/read-output';
import type { Command } from './command';

type Met = Result<'exec.wait'>['met'];
/** Begins to look for something and calls back once it is there; the answer ends the looking. */
type Watch = (met: () => void) => () => void;

const pollMs = 25;
/** A match may span pieces of output, up to this many characters. */
const windowLength = 64 * 1024;

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
  const met = await new Promise<Met>((resolve) => {
    // What was printed before the wait counts, also when the command has ended since: so its output is looked at first.
    for (const { name, watch } of watches) stops.push(watch(() => resolve(name)));
    void command.finished.then(() => resolve('exit'));
    if (timeoutMs !== undefined) {
      const timer = setTimeout(() => resolve('timeout'), timeoutMs);
      stops.push(() => clearTimeout(timer));
    }
    if (signal !== undefined) {
      const onAbort = () => resolve('timeout');
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort);
      stops.push(() => signal.removeEventListener('abort', onAbort));
    }
  });
  for (const stop of stops) stop();
  return met;
}

function watchFor(
  command: Command,
  condition: WaitCondition,
  cwd: string,
  waitsForInput: () => boolean,
): { name: Met; watch: Watch } {
  if ('output' in condition)
    return { name: 'output', watch: watchOutput(command, compilePattern(condition.output, 'output')) };
  if ('port' in condition) return { name: 'port', watch: watchPort(condition.port) };
  if ('silenceMs' in condition) return { name: 'silence_ms', watch: watchSilence(command, condition.silenceMs) };
  if ('file' in condition) return { name: 'file', watch: watchFile(resolvePath(cwd, condition.file)) };
  if ('input' in condition) return { name: 'input', watch: poll(waitsForInput) };
  return { name: 'exit', watch: () => () => {} };
}

function watchOutput(command: Command, pattern: RegExp): Watch {
  return (met) => {
    const { output } = command;
    const windows: Record<StreamName, string> = { stdout: '', stderr: '' };
    const look = (stream: StreamName, data: Uint8Array): boolean => {
      const text = windows[stream] + Buffer.from(data).toString('utf8');
      windows[stream] = text.slice(-windowLength);
      return pattern.test(text);
    };
    const stop = output.listen({
      onOutput(stream, data) {
        if (look(stream, data)) met();
      },
    });
    for (let seq = output.index.first; seq < output.index.next; seq++) {
      const place = output.index.place(seq);
      if (place !== undefined && look(place.stream, output.read(place))) {
        met();
        break;
      }
    }
    return stop;
  };
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
export function watchFile(path: string, { watch = watchDirectory, everyMs = pollMs }: FileWatching = {}): Watch {
  return (met) => {
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

function poll(holds: () => boolean): Watch {
  return (met) => {
    const timer = setInterval(() => {
      if (holds()) met();
    }, pollMs);
    if (holds()) met();
    return () => clearInterval(timer);
  };
}
