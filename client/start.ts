import { type ChildProcess, spawn } from 'node:child_process';
import net from 'node:net';
import os from 'node:os';
import { exitCodes } from '../protocol/exit-codes';
import { sparingMemory } from '../protocol/memory';
import { pipePath } from '../protocol/places';
import { isOwnDirectory } from './own-directory';
import { runtimeDirectoryOf } from './places';

export interface StartOptions {
  /** The bundled sidecar program. */
  sidecarPath: string;
  runtimeDir?: string;
  /** The Node (or Electron) that runs it. */
  execPath?: string;
  env?: NodeJS.ProcessEnv;
  startTimeoutMs?: number;
  /** false: only connect to one that is already there. */
  start?: boolean;
}

export const defaultStartTimeoutMs = 15_000;

/** No sidecar answers and none could be started. */
export class SidecarUnavailable extends Error {
  constructor(
    message: string,
    /** How the started process ended, if it did. */
    readonly exitCode?: number,
  ) {
    super(message);
    this.name = 'SidecarUnavailable';
  }
}

/** A socket to the sidecar of the runtime directory, started if there is none. */
export async function connectOrStart(options: StartOptions): Promise<net.Socket> {
  const env = options.env ?? process.env;
  const runtimeDir = options.runtimeDir ?? runtimeDirectoryOf(env);
  const pipe = pipePath(runtimeDir);
  refuseForeignDirectory(runtimeDir);
  const living = await tryConnect(pipe);
  if (living !== undefined) return living;
  if (options.start === false) throw new SidecarUnavailable(`No sidecar is running for ${runtimeDir}.`);

  const started = startSidecar(options, {
    ...sparingMemory(env),
    LIMPET_RUNTIME_DIR: runtimeDir,
    ELECTRON_RUN_AS_NODE: '1',
  });
  try {
    return await connectTo(pipe, started, options.startTimeoutMs ?? defaultStartTimeoutMs);
  } finally {
    started.release();
  }
}

/** Whoever else can write to the directory could put a pipe of their own there and read what we send. */
function refuseForeignDirectory(directory: string): void {
  if (isOwnDirectory(directory)) return;
  throw new SidecarUnavailable(
    `${directory} is not a directory of yours alone. Remove it, or set LIMPET_RUNTIME_DIR to one with mode 0700.`,
  );
}

interface Started {
  /** Why it can never answer, once that is certain. */
  failure(): SidecarUnavailable | undefined;
  release(): void;
}

async function connectTo(pipe: string, started: Started, timeoutMs: number): Promise<net.Socket> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const failed = started.failure();
    const socket = await tryConnect(pipe);
    if (socket !== undefined) return socket;
    if (failed !== undefined) throw failed;
    if (Date.now() > deadline) throw new SidecarUnavailable(`The sidecar did not answer within ${timeoutMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function startSidecar(options: StartOptions, env: NodeJS.ProcessEnv): Started {
  const child = spawn(options.execPath ?? process.execPath, [options.sidecarPath], {
    env,
    cwd: os.homedir(),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let problem: SidecarUnavailable | undefined;
  let said = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  child.on('error', (error) => {
    problem = new SidecarUnavailable(`The sidecar could not be started: ${error.message}.`);
  });
  child.on('close', (code) => {
    // Another one was faster: that is the one to connect to.
    if (code === exitCodes.alreadyRunning) return;
    const reason = said.trim().replace(/^limpet sidecar: /, '') || `it ended with code ${code ?? 'none'}`;
    problem ??= new SidecarUnavailable(`The sidecar could not be started: ${reason}`, code ?? undefined);
  });
  return { failure: () => problem, release: () => release(child) };
}

/** From here on the process lives its own life. */
function release(child: ChildProcess): void {
  child.stderr?.destroy();
  child.unref();
}

function tryConnect(pipe: string): Promise<net.Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(pipe);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (isNobodyThere(error.code)) resolve(undefined);
      // So many wait to be let in that the queue is full: someone is there.
      else if (error.code === 'EAGAIN') setTimeout(() => tryConnect(pipe).then(resolve, reject), 20);
      else reject(new SidecarUnavailable(`The sidecar's pipe ${pipe} cannot be used: ${error.message}.`));
    });
  });
}

/** The last two are of one that was killed in the middle of letting us in. */
function isNobodyThere(code: string | undefined): boolean {
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EPIPE';
}
