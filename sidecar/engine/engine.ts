import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { z } from 'zod';
import { failure } from '../../protocol/errors';
import { defaultLimits, type Limits } from '../../protocol/limits';
import { type Event, methods, type Params, type Result } from '../../protocol/methods';
import type { ChangeEvent, CommandResult, CommandSnapshot, SessionInfo, StreamEvent } from '../../protocol/values';
import { reach } from '../checkpoints';
import { type Emit, follow } from '../output/follow';
import { LogStore } from '../output/log-store';
import { readOutput } from '../output/read-output';
import { killSessions } from '../processes/command-processes';
import { describeShells, findShell } from '../shells/find-shells';
import type { Command, CommandRequest } from './command';
import { DirectoryWatch } from './directory-watch';
import { newSessionId } from './ids';
import { isDirectory } from './recovery';
import { Session } from './session';
import { SessionDirectories, SessionDirectory } from './session-directory';
import { disown, type Orphan, own, sweep } from './sweep';
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

/** The part of a pino logger the engine uses. Command texts and environment values are never passed to it. */
export interface EngineLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Disposable {
  dispose(): void;
}

const leaveGraceMs = 8000;

const silent: EngineLog = { debug() {}, info() {}, warn() {}, error() {} };

/** Sessions and their commands. Everything a transport offers is one call here; failures are LimpetErrors. */
export class Engine {
  readonly limits: Limits;
  private readonly sessions = new Map<string, Session>();
  private readonly listeners = new Set<(event: ChangeEvent) => void>();
  private readonly env: Record<string, string>;
  private readonly log: EngineLog;
  private readonly counts = { started: 0, exited: 0, stdout: 0, stderr: 0 };
  private readonly creating = new Set<Promise<SessionInfo>>();
  private closing: Promise<void> | undefined;
  private dying: Session[] | undefined;
  private killing: Promise<unknown> = Promise.resolve();
  private readonly watch: DirectoryWatch;
  /** Those of which it was said that their directory cannot be made again. */
  private readonly lost = new WeakSet<Session>();

  private constructor(
    private readonly root: string,
    private readonly directories: SessionDirectories,
    private readonly logs: LogStore,
    options: EngineOptions,
  ) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.env = ownEnvironment(options.env ?? process.env);
    this.log = options.log ?? silent;
    this.watch = new DirectoryWatch(root, (name) => {
      if (name === null || this.sessions.has(name)) this.lookAfterDirectories();
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
    const directories = new SessionDirectories(root);
    const logs = new LogStore({ stateDir: resolve(options.stateDir), runtimeDir: resolve(options.runtimeDir) }, limits);
    const engine = new Engine(root, directories, logs, options);
    const { orphans, swept } = await sweep(root);
    // Not before: a sidecar that was still about to die would have been taken for a living one.
    logs.takeStock();
    if (swept > 0) engine.log.info({ swept }, 'removed what ended sidecars left behind');
    if (options.adopt ?? true) for (const orphan of orphans) engine.adopt(orphan);
    logs.clearOut();
    directories.prepare();
    return engine;
  }

  createSession(params: Params<'session.create'>): Promise<SessionInfo> {
    const creation = this.create(params).finally(() => this.creating.delete(creation));
    this.creating.add(creation);
    return creation;
  }

  private async create(params: Params<'session.create'>): Promise<SessionInfo> {
    const wanted = valid(methods['session.create'].params, params);
    this.refuseWhenClosing();
    if (wanted.pty === true) {
      throw failure.notSupported('Sessions with a terminal (pty) are not available yet. Leave pty out.');
    }
    if (this.sessions.size + this.creating.size >= this.limits.maxSessions)
      throw failure.sessionLimit(this.limits.maxSessions);
    const env = { ...this.env, ...wanted.env };
    const shell = findShell(wanted.shell, env.PATH);
    const cwd = resolve(wanted.cwd ?? process.cwd());
    if (!isDirectory(cwd)) throw failure.cwdNotFound(wanted.cwd ?? cwd);
    const id = newSessionId((taken) => this.sessions.has(taken));
    const directory = await this.directories.take(id);
    const creation = Session.create({
      id,
      name: wanted.name ?? id,
      shell,
      profile: wanted.profile ?? 'clean',
      cwd,
      env,
      envKeys: Object.keys(wanted.env ?? {}),
      defaultTimeoutMs: wanted.defaultTimeoutMs,
      idleTimeoutMs: wanted.idleTimeoutMs,
      directory,
      ...this.surroundings(),
    });
    // While the shell starts, the next session's directory is made.
    this.directories.prepare();
    const session = await creation;
    if (this.closing !== undefined) {
      await session.destroy();
      throw failure.shuttingDown();
    }
    this.sessions.set(id, session);
    this.log.info({ sessionId: id, shell: shell.dialect.name }, 'session created');
    this.announce(session, undefined);
    return session.info();
  }

  listSessions(): SessionInfo[] {
    return [...this.sessions.values()].map((session) => session.info());
  }

  sessionInfo(sessionId: string): SessionInfo {
    return this.session(sessionId).info();
  }

  renameSession(sessionId: string, name: string): SessionInfo {
    valid(methods['session.rename'].params, { sessionId, name });
    const session = this.session(sessionId);
    session.rename(name);
    return session.info();
  }

  async destroySession(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    await this.destroy(sessionId, this.killTogether(session));
  }

  /** Sessions that are destroyed at the same time look for their processes together: one look sees those of all. */
  private killTogether(session: Session): Promise<unknown> {
    const dying = this.dying ?? [];
    dying.push(session);
    if (this.dying === undefined) {
      this.dying = dying;
      this.killing = Promise.resolve().then(() => {
        this.dying = undefined;
        return killSessions(() => dying.map(({ traces }) => traces));
      });
    }
    return this.killing;
  }

  private async destroy(sessionId: string, killing?: Promise<unknown>): Promise<void> {
    const session = this.session(sessionId);
    await session.destroy(killing);
    this.sessions.delete(sessionId);
    this.log.info({ sessionId }, 'session destroyed');
    this.emit({ event: 'session_gone', sessionId });
  }

  async run(params: Params<'exec.run'>): Promise<CommandResult> {
    const command = this.submit(valid(methods['exec.run'].params, params));
    await command.finished;
    return this.resultOf(command);
  }

  /** When `signal` aborts, streaming ends and the command goes on. */
  async stream(params: Params<'exec.run'>, emit: Emit<StreamEvent>, signal?: AbortSignal): Promise<CommandResult> {
    return this.followToEnd(this.submit(valid(methods['exec.run'].params, params)), 1, emit, signal);
  }

  async start(params: Params<'exec.start'>): Promise<Result<'exec.start'>> {
    const { keepStdinOpen, background, ...rest } = valid(methods['exec.start'].params, params);
    const isFree = this.session(rest.sessionId).runningCommand === undefined;
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
    const { command, session } = this.command(commandId);
    session.noteOutput();
    return this.followToEnd(command, fromSeq ?? 1, emit, signal);
  }

  async wait(params: Params<'exec.wait'>, signal?: AbortSignal): Promise<Result<'exec.wait'>> {
    const { commandId, until, timeoutMs, maxOutputBytes } = valid(methods['exec.wait'].params, params);
    const { command, session } = this.command(commandId);
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
    const { command, session } = this.command(query.commandId);
    session.noteOutput();
    return { ...(await readOutput(command.output, query)), finished: command.isFinished };
  }

  async input(params: Params<'exec.input'>): Promise<void> {
    const { commandId, data = '', encoding, eof } = valid(methods['exec.input'].params, params);
    const { command, session } = this.command(commandId);
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
    const { command, session } = commandId === undefined ? this.runningIn(sessionId ?? '') : this.command(commandId);
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
    const sessions = sessionId === undefined ? [...this.sessions.values()] : [this.session(sessionId)];
    const commands = sessions
      .flatMap((session) => [...session.commands.values()].map((command) => ({ session, command })))
      .filter(({ command }) => runningOnly !== true || !command.isFinished)
      .map(({ session, command }) => snapshotOf(session, command));
    return { commands };
  }

  stats(): Result<'system.stats'> {
    const sessions = [...this.sessions.values()];
    const count = (state: string) => sessions.filter((session) => session.state === state).length;
    const running = sessions
      .flatMap((session) => [...session.commands.values()])
      .filter(({ state }) => state === 'running');
    const bytes = { stdout: this.counts.stdout, stderr: this.counts.stderr };
    for (const { output } of running) {
      bytes.stdout += output.bytes.stdout;
      bytes.stderr += output.bytes.stderr;
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
    this.closing ??= this.closeAll();
    return this.closing;
  }

  /** For a process that ends at once: kills what is left of every session, and waits for nothing. */
  killNow(): void {
    for (const session of this.sessions.values()) session.killNow();
  }

  /** Ends without ending any session: whoever opens the same directories next goes on with them. Loses nothing. */
  async leave(): Promise<void> {
    this.closing ??= (async () => {
      for (const session of this.sessions.values()) this.leaveSession(session);
      // What is being made or destroyed is nobody else's business, so it is waited for.
      const endings = [...this.sessions.values()].map(({ ending }) => ending);
      await Promise.race([
        Promise.allSettled([...this.creating, ...endings]),
        pause(leaveGraceMs, null, { ref: false }),
      ]);
      await this.dispose();
    })();
    return this.closing;
  }

  /** What happens to one keeps no other from being left. */
  private leaveSession(session: Session): void {
    try {
      session.leave();
    } catch (error) {
      this.log.error({ sessionId: session.id, err: error }, 'a session could not be left in order');
    }
  }

  private adopt({ sessionId, directory, isBereft, saved }: Orphan): void {
    const { foundation, condition } = saved;
    try {
      const shell = findShell(foundation.shell, foundation.env.PATH);
      own(directory);
      reach('session-claimed');
      const session = Session.adopt(
        {
          id: sessionId,
          name: condition.name,
          ...foundation,
          isBereft,
          defaultTimeoutMs: foundation.defaultTimeoutMs,
          idleTimeoutMs: foundation.idleTimeoutMs,
          shell,
          directory: SessionDirectory.existing(directory, condition.keepers),
          ...this.surroundings(),
        },
        saved,
      );
      this.sessions.set(sessionId, session);
      this.log.info({ sessionId, commands: session.commands.size }, 'session adopted');
    } catch (error) {
      this.log.error({ sessionId, err: error }, 'a session could not be adopted and was left alone');
      disown(directory);
    }
  }

  /** Somebody may remove the runtime directory, as a clean-up of temporary files does. */
  private lookAfterDirectories(): void {
    const homeless = [...this.sessions.values()].filter((session) => !session.hasDirectory);
    if (this.watch.isCurrent && homeless.length === 0) return;
    try {
      mkdirSync(this.root, { recursive: true, mode: 0o700 });
    } catch {
      // On a disk that is full or read-only; it is tried again at the next look.
      return;
    }
    for (const session of homeless) this.restoreDirectory(session);
    this.logs.reopenJournal();
    this.watch.renew();
  }

  private restoreDirectory(session: Session): void {
    const sessionId = session.id;
    try {
      session.restoreDirectory();
      this.log.warn({ sessionId }, 'the directory of a session was removed and has been made again');
    } catch (error) {
      if (!this.lost.has(session)) this.log.error({ sessionId, err: error }, 'a directory could not be made again');
      this.lost.add(session);
    }
  }

  /** What every session is given by its engine. */
  private surroundings() {
    return {
      logs: this.logs,
      limits: this.limits,
      onChange: (session: Session, command?: Command) => this.announce(session, command),
      onFinished: (command: Command) => this.count(command),
      onIdleTimeout: (session: Session) => void this.destroySession(session.id).catch(() => {}),
      onBug: (session: Session, thrown: unknown) =>
        this.log.error({ sessionId: session.id, err: thrown }, 'a command could not be run'),
      onUnrecorded: (session: Session, error: unknown) =>
        this.log.warn({ sessionId: session.id, err: error }, 'the journal of a session cannot be written'),
    };
  }

  private async dispose(): Promise<void> {
    this.watch.dispose();
    await this.directories.dispose();
    this.logs.dispose();
    this.listeners.clear();
  }

  private async closeAll(): Promise<void> {
    const sessions = [...this.sessions.values()];
    // All at once: each session looking for its own processes would look at all those of the others as well.
    const killing = killSessions(() => sessions.map(({ traces }) => traces));
    await Promise.all(sessions.map(({ id }) => this.destroy(id, killing).catch(() => {})));
    await Promise.allSettled(this.creating);
    await this.dispose();
  }

  private submit(params: Params<'exec.run'>, background = false, keepStdinOpen = false): Command {
    this.refuseWhenClosing();
    const session = this.session(params.sessionId);
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
  }

  private async followToEnd(command: Command, fromSeq: number, emit: Emit<StreamEvent>, signal?: AbortSignal) {
    await follow(command.output, fromSeq, emit, {
      finished: command.finished,
      isFinished: () => command.isFinished || command.error !== undefined,
      signal,
    });
    // Whoever ended the following is not waiting for the result either; the command goes on, and this with it.
    await command.finished;
    return this.resultOf(command);
  }

  private async resultOf(command: Command): Promise<CommandResult> {
    if (command.error !== undefined) throw command.error;
    return command.resultAtHand ?? command.result();
  }

  private session(sessionId: string): Session {
    const session = this.sessions.get(sessionId);
    if (session === undefined) throw failure.sessionNotFound(sessionId);
    return session;
  }

  private command(commandId: string): { command: Command; session: Session } {
    const session = this.sessions.get(commandId.slice(0, commandId.lastIndexOf(':')));
    const command = session?.commands.get(commandId);
    if (session === undefined || command === undefined) throw failure.commandNotFound(commandId);
    return { command, session };
  }

  private runningIn(sessionId: string): { command: Command; session: Session } {
    const session = this.session(sessionId);
    const command = session.runningCommand;
    if (command === undefined) throw failure.nothingRuns(sessionId);
    return { command, session };
  }

  private refuseWhenClosing(): void {
    if (this.closing !== undefined) throw failure.shuttingDown();
  }

  private announce(session: Session, command: Command | undefined): void {
    if (this.listeners.size === 0 || !this.sessions.has(session.id)) return;
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
  return command.state === 'running' ? { ...snapshot, activity: session.activity(command) } : snapshot;
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
