import type { Limits } from '../../protocol/limits';
import type { Event, Params, Result } from '../../protocol/methods';
import type { ChangeEvent, CommandResult, SessionInfo, StreamEvent } from '../../protocol/values';

export interface EngineOptions {
  /** Holds FIFOs and what is needed to find living sessions again; 0700, on a fast file system. */
  runtimeDir: string;
  /** Holds logs and exit files; 0700. */
  stateDir: string;
  /** The outermost layer of the environment; process.env by default. */
  env?: Record<string, string | undefined>;
  limits?: Partial<Limits>;
  log?: EngineLog;
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

/** Receives a piece of output; a promise it returns is awaited before the next piece, so a slow reader is never buried. */
export type Emit<E> = (event: E) => void | Promise<void>;

/** Sessions and their commands. Everything a transport offers is one call here; failures are LimpetErrors. */
export declare class Engine {
  /** Makes the directories, sweeps what dead sidecars left, and is then ready. */
  static open(options: EngineOptions): Promise<Engine>;
  readonly limits: Limits;
  createSession(params: Params<'session.create'>): Promise<SessionInfo>;
  listSessions(): SessionInfo[];
  sessionInfo(sessionId: string): SessionInfo;
  renameSession(sessionId: string, name: string): SessionInfo;
  destroySession(sessionId: string): Promise<void>;
  /** exec.run */
  run(params: Params<'exec.run'>): Promise<CommandResult>;
  /** exec.stream; when `signal` aborts, streaming ends and the command goes on. */
  stream(params: Params<'exec.run'>, emit: Emit<StreamEvent>, signal?: AbortSignal): Promise<CommandResult>;
  start(params: Params<'exec.start'>): Promise<Result<'exec.start'>>;
  follow(params: Params<'exec.follow'>, emit: Emit<Event<'exec.follow'>>, signal?: AbortSignal): Promise<CommandResult>;
  wait(params: Params<'exec.wait'>, signal?: AbortSignal): Promise<Result<'exec.wait'>>;
  output(params: Params<'exec.output'>): Promise<Result<'exec.output'>>;
  input(params: Params<'exec.input'>): Promise<void>;
  cancel(params: Params<'exec.cancel'>): Promise<Result<'exec.cancel'>>;
  listCommands(params: Params<'exec.list'>): Result<'exec.list'>;
  stats(): Result<'system.stats'>;
  shells(): Promise<Result<'runtime.describe'>['shells']>;
  onChange(listener: (event: ChangeEvent) => void): Disposable;
  /** Destroys every session; idempotent. */
  close(): Promise<void>;
}
