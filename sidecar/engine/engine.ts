import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { failure } from '../../protocol/errors';
import { defaultLimits, type Limits } from '../../protocol/limits';
import { type Event, methods, type Params, type Result } from '../../protocol/methods';
import type {
  ChangeEvent,
  CommandResult,
  CommandSnapshot,
  SessionInfo,
  StreamEvent,
  StreamName,
} from '../../protocol/values';
import type { CommandOutput } from '../output/command-output';
import { type Emit, follow } from '../output/follow';
import { LogStore } from '../output/log-store';
import { readOutput } from '../output/read-output';
import { inOneLook } from '../processes/process-table';
import { describeShells } from '../shells/find-shells';
import type { Command, CommandRequest } from './command';
import { isDirectory } from './recovery';
import type { Session } from './session';
import { type EngineLog, Sessions } from './sessions';
import { sweep } from './sweep';
import { waitFor } from './waiting';

export type { Emit } from '../output/follow';

export interface EngineOptions {
  /** Holds FIFOs and what is needed to find living sessions again; 0700, on a fast file system. */
  runtimeDir: string;
  /** Holds logs and exit files; 0700. */
  stateDir: string;
  /** The outermost layer of the environment; process.env by default. */
  env?: Record<string, string | undefined>;
  limits?: Partial<Limits>;
  log?: EngineLog;
  /** Whether to go on with the sessions of sidecars that are gone; otherwise they are left for one that does. */
  adopt?: boolean;
}

export interface Disposable {
  dispose(): void;
}

const silent: EngineLog = { debug() {}, info() {}, warn() {}, error() {} };

/** Sessions and their commands. Everything a transport offers is one call here; failures are LimpetErrors. */
export class Engine {
  private readonly listeners = new Set<(event: ChangeEvent) => void>();
  private readonly counts = { started: 0, exited: 0, stdout: 0, stderr: 0 };
  /** What was counted of commands that are over, where what they left behind may still print. */
  private readonly counted = new Map<CommandOutput, Record<StreamName, number>>();
  private readonly sessions: Sessions;
  private over: Promise<void> | undefined;

  private constructor(
    root: string,
    readonly limits: Limits,
    private readonly env: Record<string, string>,
    private readonly logs: LogStore,
    log: EngineLog,
  ) {
    this.sessions = new Sessions({
      ...{ root, logs, limits, env, log },
      onChange: (session, command) => this.announce(session, command),
      onGone: ({ id }) => this.emit({ event: 'session_gone', sessionId: id }),
      onFinished: (command) => this.count(command),
      onOutputEnded: ({ output }) => this.countRest(output),
    });
  }

  /** Makes the directories, goes on with living sessions of dead sidecars, sweeps the rest, and is then ready. */
  static async open(options: EngineOptions): Promise<Engine> {
    for (const path of [options.runtimeDir, options.stateDir]) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      if ((statSync(path).mode & 0o777) !== 0o700) chmodSync(path, 0o700);
    }
    const root = resolve(options.runtimeDir, 'sessions');
    const limits = { ...defaultLimits, ...options.limits };
    const log = options.log ?? silent;
    const logs = new LogStore({ stateDir: resolve(options.stateDir), runtimeDir: resolve(options.runtimeDir) }, limits);
    const engine = new Engine(root, limits, ownEnvironment(options.env ?? process.env), logs, log);
    const { orphans, unread, swept } = await sweep(root);
    // Not before: a sidecar that was still about to die would have been taken for a living one.
    logs.takeStock();
    if (swept > 0) log.info({ swept }, 'removed what ended sidecars left behind');
    for (const { sessionId, error } of unread) {
      log.warn({ sessionId, err: error }, 'the journal of a session cannot be read, so the session was left alone');
    }
    if (options.adopt ?? true) for (const orphan of orphans) engine.sessions.adopt(orphan);
    logs.clearOut();
    engine.sessions.prepare();
    return engine;
  }

  async createSession(params: Params<'session.create'>): Promise<SessionInfo> {
    return this.sessions.create(valid(methods['session.create'].params, params));
  }

  listSessions(): SessionInfo[] {
    return this.sessions.all.map((session) => session.info());
  }

  sessionInfo(sessionId: string): SessionInfo {
    return this.sessions.get(sessionId).info();
  }

  renameSession(sessionId: string, name: string): SessionInfo {
    valid(methods['session.rename'].params, { sessionId, name });
    const session = this.sessions.get(sessionId);
    session.rename(name);
    return session.info();
  }

  destroySession(sessionId: string): Promise<void> {
    return this.sessions.destroy(sessionId);
  }

  async run(params: Params<'exec.run'>): Promise<CommandResult> {
    const command = this.submit(valid(methods['exec.run'].params, params));
    await command.finished;
    return this.resultOf(command);
  }

  /** When `signal` aborts, streaming ends and the command goes on, and the answer with it. */
  async stream(params: Params<'exec.run'>, emit: Emit<StreamEvent>, signal?: AbortSignal): Promise<CommandResult> {
    const command = this.submit(valid(methods['exec.run'].params, params));
    return this.followed(command, 1, emit, signal).then(() => this.resultAtEnd(command));
  }

  async start(params: Params<'exec.start'>): Promise<Result<'exec.start'>> {
    const { keepStdinOpen, background, ...rest } = valid(methods['exec.start'].params, params);
    const isFree = this.sessions.get(rest.sessionId).runningCommand === undefined;
    const command = this.submit(rest, background, keepStdinOpen);
    // A background command's pid is known in a moment, unless it has to wait for its turn.
    if (command.request.background && isFree) await Promise.race([command.started, command.finished]);
    if (command.error !== undefined) throw command.error;
    return { commandId: command.id, ...(command.pid === undefined ? {} : { pid: command.pid }) };
  }

  async follow(
    params: Params<'exec.follow'>,
    emit: Emit<Event<'exec.follow'>>,
    signal?: AbortSignal,
  ): Promise<CommandResult> {
    const { commandId, fromSeq } = valid(methods['exec.follow'].params, params);
    const { command, session } = this.sessions.command(commandId);
    session.noteOutput();
    await this.followed(command, fromSeq ?? 1, emit, signal);
    if (signal?.aborted) throw failure.callStopped();
    return this.resultAtEnd(command);
  }

  async wait(params: Params<'exec.wait'>, signal?: AbortSignal): Promise<Result<'exec.wait'>> {
    const { commandId, until, timeoutMs, maxOutputBytes } = valid(methods['exec.wait'].params, params);
    const { command, session } = this.sessions.command(commandId);
    const context = {
      cwd: resolve(session.cwd, command.request.overrides?.cwd ?? ''),
      waitsForInput: () => session.waitsForInput(command),
    };
    const met = await waitFor(command, until ?? [{ exit: true }], context, timeoutMs, signal);
    if (command.error !== undefined) throw command.error;
    if (!command.isFinished) return { met, ...snapshotOf(session, command) };
    return { met, ...command.snapshot(), ...(await command.result(maxOutputBytes)) };
  }

  async output(params: Params<'exec.output'>): Promise<Result<'exec.output'>> {
    const query = valid(methods['exec.output'].params, params);
    const { command, session } = this.sessions.command(query.commandId);
    session.noteOutput();
    return { ...(await readOutput(command.output, query)), finished: command.isFinished };
  }

  async input(params: Params<'exec.input'>): Promise<void> {
    const { commandId, data = '', encoding, eof } = valid(methods['exec.input'].params, params);
    const { command, session } = this.sessions.command(commandId);
    if (command.isFinished) throw failure.commandFinished(commandId);
    const input = session.input(command);
    if (input === undefined) {
      throw failure.notSupported(
        `Command ${commandId} was started without keep_stdin_open, so it has no input to write to.`,
      );
    }
    if (!input.isOpen) throw inputEnded(commandId);
    if (data !== '' && !(await input.write(Buffer.from(data, encoding))))
      throw command.error ?? (command.isFinished ? failure.commandFinished(commandId) : inputEnded(commandId));
    if (eof === true) session.endInput(command);
  }

  async cancel(params: Params<'exec.cancel'>): Promise<Result<'exec.cancel'>> {
    const { commandId, sessionId, signal } = valid(methods['exec.cancel'].params, params);
    const { command, session } =
      commandId === undefined ? this.runningIn(sessionId ?? '') : this.sessions.command(commandId);
    if (command.isFinished) throw failure.commandFinished(command.id);
    if (signal !== undefined && !endsCommands.has(signal)) {
      session.signal(command, signal);
      return { outcome: null, commandId: command.id };
    }
    await session.interrupt(command, 'cancelled', signal);
    if (!command.isFinished && command.error !== undefined) throw command.error;
    return { outcome: command.end?.outcome ?? null, commandId: command.id };
  }

  listCommands(params: Params<'exec.list'>): Result<'exec.list'> {
    const { sessionId, runningOnly } = valid(methods['exec.list'].params, params);
    const sessions = sessionId === undefined ? this.sessions.all : [this.sessions.get(sessionId)];
    const commands = sessions
      .flatMap((session) => [...session.commands.all()].map((command) => ({ session, command })))
      .filter(({ command }) => runningOnly !== true || !command.isFinished);
    return { commands: inOneLook(() => commands.map(({ session, command }) => snapshotOf(session, command))) };
  }

  stats(): Result<'system.stats'> {
    const sessions = this.sessions.all;
    const count = (state: string) => sessions.filter((session) => session.state === state).length;
    const running = sessions
      .flatMap((session) => [...session.commands.all()])
      .filter(({ state }) => state === 'running');
    const bytes = { stdout: this.counts.stdout, stderr: this.counts.stderr };
    for (const { output } of running) {
      bytes.stdout += output.bytes.stdout;
      bytes.stderr += output.bytes.stderr;
    }
    for (const [output, counted] of this.counted) {
      bytes.stdout += output.bytes.stdout - counted.stdout;
      bytes.stderr += output.bytes.stderr - counted.stderr;
    }
    return {
      sessions: { total: sessions.length, idle: count('idle'), running: count('running') },
      commands: { started: this.counts.started, running: running.length, exited: this.counts.exited },
      bytes,
      memory: { rssBytes: process.memoryUsage.rss() },
      limits: { ...this.limits },
    };
  }

  shells(): Promise<Result<'runtime.describe'>['shells']> {
    return describeShells(this.env.PATH);
  }

  onChange(listener: (event: ChangeEvent) => void): Disposable {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  /** Destroys every session; idempotent. */
  close(): Promise<void> {
    this.over ??= this.sessions.close().then(() => this.dispose());
    return this.over;
  }

  /** Ends without ending any session: whoever opens the same directories next goes on with them. Loses nothing. */
  leave(): Promise<void> {
    this.over ??= this.sessions.leave().then(() => this.dispose());
    return this.over;
  }

  /** For a process that ends at once: kills what is left of every session, and waits for nothing. */
  killNow(): void {
    this.sessions.killNow();
  }

  private dispose(): void {
    this.logs.dispose();
    this.listeners.clear();
  }

  private submit(params: Params<'exec.run'>, background = false, keepStdinOpen = false): Command {
    this.sessions.refuseWhenClosing();
    const session = this.sessions.get(params.sessionId);
    if (params.cwd !== undefined && !isDirectory(resolve(session.cwd, params.cwd)))
      throw failure.cwdNotFound(params.cwd);
    const command = session.submit(requestOf(params, background, keepStdinOpen, this.limits), params.onBusy ?? 'queue');
    this.counts.started++;
    return command;
  }

  private count({ output }: Command): void {
    this.counts.exited++;
    this.counts.stdout += output.bytes.stdout;
    this.counts.stderr += output.bytes.stderr;
    if (!output.ended) this.counted.set(output, { ...output.bytes });
  }

  private countRest(output: CommandOutput): void {
    const counted = this.counted.get(output);
    // It was over before it was adopted.
    if (counted === undefined) return;
    this.counted.delete(output);
    this.counts.stdout += output.bytes.stdout - counted.stdout;
    this.counts.stderr += output.bytes.stderr - counted.stderr;
  }

  private followed(command: Command, fromSeq: number, emit: Emit<StreamEvent>, signal?: AbortSignal): Promise<void> {
    return follow(command.output, fromSeq, emit, {
      whenFinished: (callback) => command.whenFinished(callback),
      isFinished: () => command.isFinished || command.error !== undefined,
      signal,
    });
  }

  private async resultAtEnd(command: Command): Promise<CommandResult> {
    await command.finished;
    return this.resultOf(command);
  }

  private async resultOf(command: Command): Promise<CommandResult> {
    if (command.error !== undefined) throw command.error;
    return command.resultAtHand ?? command.result();
  }

  private runningIn(sessionId: string): { command: Command; session: Session } {
    const session = this.sessions.get(sessionId);
    const command = session.runningCommand;
    if (command === undefined) throw failure.nothingRuns(sessionId);
    return { command, session };
  }

  private announce(session: Session, command: Command | undefined): void {
    if (this.listeners.size === 0) return;
    if (command !== undefined) this.emit({ event: 'command', command: command.snapshot() });
    this.emit({ event: 'session', session: session.info() });
  }

  private emit(event: ChangeEvent): void {
    for (const listener of this.listeners) listener(event);
  }
}

const inputEnded = (commandId: string) => failure.invalidParams(`The input of command ${commandId} was already ended.`);

function snapshotOf(session: Session, command: Command): CommandSnapshot {
  const snapshot = command.snapshot();
  if (command.state !== 'running') return snapshot;
  return { ...snapshot, activity: inOneLook(() => session.activity(command)) };
}

const endsCommands = new Set<string>(['SIGINT', 'SIGTERM', 'SIGKILL', 'SIGHUP', 'SIGQUIT']);

/** The sidecar's own configuration, a token among it, is none of a command's business. */
function ownEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(LIMPET_|ELECTRON_RUN_AS_NODE$)/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

function requestOf(params: Params<'exec.run'>, background: boolean, keepOpen: boolean, limits: Limits): CommandRequest {
  const { command, cwd, env, stdin } = params;
  return {
    text: command,
    background,
    origin: params.origin ?? 'unknown',
    stdin: keepOpen ? { kind: 'open' } : stdin === undefined ? { kind: 'none' } : { kind: 'text', text: stdin },
    overrides:
      cwd === undefined && env === undefined ? undefined : { ...(cwd === undefined ? {} : { cwd }), env: env ?? {} },
    timeoutMs: params.timeoutMs,
    maxOutputBytes: params.maxOutputBytes ?? limits.defaultOutputBytes,
  };
}

function valid<T>(schema: z.ZodType<T>, params: unknown): T {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw failure.invalidParams(`${issue?.path.join('.') || 'params'}: ${issue?.message ?? 'invalid'}`);
}
