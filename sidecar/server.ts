import type { Dialect } from '../protocol/dialect';
import { failure } from '../protocol/errors';
import { isMethodName, type MethodName, methods, type Params, type Result } from '../protocol/methods';
import type { CommandResult, StreamEvent } from '../protocol/values';
import { productVersion, protocolVersion } from '../protocol/version';
import { followChanges } from './change-feed';
import type { Emit, Engine } from './engine/engine';
import { describeIssues } from './invalid-params';
import { systemFailure } from './system-failure';
import { inTurn } from './turns';

/** What the method table needs of the engine; a stand-in in a test needs no more. */
export type SessionEngine = Pick<Engine, keyof Engine>;

/** The client behind a call. Its name is known once it has said hello. */
export interface Caller {
  readonly transport: string;
  readonly dialect: Dialect;
  name?: string;
}

export interface Call {
  readonly caller: Caller;
  /** Aborts when the client cancels the call or is gone. */
  readonly signal: AbortSignal;
  /** Only streamed methods use it; a returned promise asks for a pause. */
  readonly emit: Emit<unknown>;
  /** A promise while the client leaves too much unread. */
  room(): Promise<void> | undefined;
}

export interface ServerFacts {
  transports(): string[];
  features(): string[];
  shutDown(keepsSessions: boolean): void;
  /** A command was started or has ended. Its text is not for the log. */
  logCommand(fields: LoggedResult & { sessionId: string; origin: string | undefined; commandChars: number }): void;
  /** A failure that is a bug: it goes to the log, the caller learns only that there was one. */
  reportBug(method: string, thrown: unknown): void;
}

interface LoggedResult {
  commandId: string;
  outcome?: CommandResult['outcome'] | undefined;
  exitCode?: number | null | undefined;
  durationMs?: number | undefined;
}

type Handler<M extends MethodName> = (server: Server, params: Params<M>, call: Call) => Result<M> | Promise<Result<M>>;

const table: { [M in MethodName]: Handler<M> } = {
  'system.hello': (server, params, call) => server.hello(params, call),
  'system.ping': (server) => server.ping(),
  'system.stats': async (server) => (await server.engine()).stats(),
  'system.shutdown': (server, params) => server.shutDown(params.keepSessions ?? false),
  'runtime.describe': (server) => server.describe(),
  'session.create': async (server, params) => (await server.engine()).createSession(params),
  'session.list': async (server) => ({ sessions: (await server.engine()).listSessions() }),
  'session.info': async (server, params) => (await server.engine()).sessionInfo(params.sessionId),
  'session.rename': async (server, params) => (await server.engine()).renameSession(params.sessionId, params.name),
  'session.destroy': async (server, params) => nothing((await server.engine()).destroySession(params.sessionId)),
  'exec.run': async (server, params, call) => server.logged(params, (await server.engine()).run(signed(params, call))),
  'exec.stream': async (server, params, call) => {
    const engine = await server.engine();
    const streaming = engine.stream(signed(params, call), call.emit as Emit<StreamEvent>, call.signal);
    return untilStopped(call, server.logged(params, streaming));
  },
  'exec.start': async (server, params, call) =>
    server.logged(params, (await server.engine()).start(signed(params, call))),
  'exec.follow': async (server, params, call) =>
    untilStopped(call, (await server.engine()).follow(params, call.emit as Emit<StreamEvent>, call.signal)),
  'exec.wait': async (server, params, call) => untilStopped(call, (await server.engine()).wait(params, call.signal)),
  'exec.output': (server, params, call) => inTurn(call, async () => (await server.engine()).output(params)),
  'exec.input': async (server, params) => nothing((await server.engine()).input(params)),
  'exec.cancel': async (server, params) => (await server.engine()).cancel(params),
  'exec.list': async (server, params) => (await server.engine()).listCommands(params),
  'events.subscribe': async (server, _params, call) => followChanges(await server.engine(), call, server.noMoreChanges),
};

const shellsStaleMs = 30_000;

/** One method table for every transport: checks the parameters, knows the caller, asks the engine. */
export class Server {
  private opened: SessionEngine | undefined;
  private closing = false;
  private shells: { asked: number; found: ReturnType<SessionEngine['shells']> } | undefined;
  private readonly startedAt = performance.now();
  private readonly changesEnd = new AbortController();
  readonly noMoreChanges: AbortSignal = this.changesEnd.signal;

  constructor(
    private readonly opening: Promise<SessionEngine>,
    private readonly facts: ServerFacts,
  ) {
    opening.then(
      (engine) => {
        this.opened = engine;
      },
      // Whoever asks for the engine gets the failure.
      () => undefined,
    );
  }

  async handle(method: string, params: unknown, call: Call): Promise<unknown> {
    if (this.closing) throw failure.shuttingDown();
    if (!isMethodName(method)) throw failure.unknownMethod(method);
    const checked = methods[method].params.safeParse(params ?? {});
    if (!checked.success) {
      throw describeIssues(method, checked.error.issues, call.caller.dialect);
    }
    try {
      return await (table[method] as Handler<MethodName>)(this, checked.data as Params<MethodName>, call);
    } catch (thrown) {
      const refused = systemFailure(thrown);
      if (refused !== undefined) throw refused;
      this.facts.reportBug(method, thrown);
      throw thrown;
    }
  }

  engine(): SessionEngine | Promise<SessionEngine> {
    return this.opened ?? this.opening;
  }

  /** Notes a command by its id and length. */
  async logged<R extends LoggedResult>(params: Params<'exec.start'>, work: Promise<R>): Promise<R> {
    const result = await work;
    const { sessionId, origin, command } = params;
    const { commandId, outcome, exitCode, durationMs } = result;
    this.facts.logCommand({
      commandId,
      sessionId,
      origin,
      commandChars: command.length,
      outcome,
      exitCode,
      durationMs,
    });
    return result;
  }

  hello(params: Params<'system.hello'>, call: Call): Result<'system.hello'> {
    if (params.protocolVersion !== protocolVersion) {
      throw failure.protocolMismatch(productVersion, protocolVersion, params.protocolVersion);
    }
    call.caller.name = params.clientName;
    return this.ping();
  }

  ping(): Result<'system.ping'> {
    const uptimeMs = Math.round(performance.now() - this.startedAt);
    return { pong: true, version: productVersion, protocolVersion, pid: process.pid, uptimeMs };
  }

  async describe(): Promise<Result<'runtime.describe'>> {
    const engine = await this.engine();
    return {
      name: 'limpet',
      version: productVersion,
      protocolVersion,
      platform: `${process.platform}-${process.arch}`,
      pid: process.pid,
      transports: this.facts.transports(),
      shells: await this.knownShells(engine),
      features: this.facts.features(),
      methods: Object.keys(methods),
      limits: engine.limits,
    };
  }

  /** Asking a shell for its version starts it, so that is not done for every caller. */
  private knownShells(engine: SessionEngine): Promise<Result<'runtime.describe'>['shells']> {
    if (this.shells === undefined || performance.now() - this.shells.asked > shellsStaleMs) {
      this.shells = { asked: performance.now(), found: engine.shells() };
    }
    return this.shells.found;
  }

  shutDown(keepsSessions: boolean): Result<'system.shutdown'> {
    this.facts.shutDown(keepsSessions);
    return {};
  }

  /** From now on every request is refused; those that run go on. */
  refuseRequests(): void {
    this.closing = true;
  }

  /** Answers those who follow the changes: there are no more. */
  endChanges(): void {
    this.changesEnd.abort();
  }
}

const nothing = (done: Promise<void>) => done.then(() => ({}));

/** A command carries the name of whoever asked for it. */
function signed<P extends { origin?: string | undefined }>(params: P, { caller }: Call): P {
  params.origin ??= caller.name ?? caller.transport;
  return params;
}

/** What the engine makes of an answer that nobody wants any more does not matter. */
function untilStopped<R>({ signal }: Call, work: Promise<R>): Promise<R> {
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => reject(failure.callStopped());
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([work, stopped]);
}
