import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { DescribedTransport } from '../../protocol/descriptor';
import { LimpetError } from '../../protocol/errors';
import { exitCodes } from '../../protocol/exit-codes';
import { logPath, pipePath } from '../../protocol/places';
import { Server, type SessionEngine } from '../server';
import type { Connection, TransportContext } from '../transports/connection';
import { serveJsonRpc } from '../transports/jsonrpc';
import { serveLines } from '../transports/lines';
import { type ClaimedSocket, claimSocket, prepareSocketDirectory } from '../transports/unix-socket';
import { Clients, within } from './clients';
import type { Configuration } from './configuration';
import { writeDescriptor } from './descriptor';
import { type Log, openLog } from './log';
import { preparePrivateDirectory } from './private-directory';
import { Refusal } from './refusal';

type Serve = typeof serveLines;

const inputGraceMs = 2000;
const answerGraceMs = 2000;
const closeGraceMs = 15_000;
const pipeLookMs = 1000;

/** The process: its engine, its transports, its clients, and its end. */
export class Sidecar {
  private readonly server: Server;
  private readonly clients: Clients;
  private readonly context: TransportContext;
  private readonly transports: DescribedTransport[] = [];
  private readonly stopListening: (() => void)[] = [];
  private readonly removeTraces: (() => void)[] = [];
  private readonly engine: Promise<SessionEngine>;
  private ending = false;
  private hasPipe = false;
  /** Whether sessions live on when this process ends, for the next one to go on with. */
  private keepsSessions = false;

  static async start(configuration: Configuration): Promise<Sidecar> {
    preparePrivateDirectory(configuration.runtimeDir);
    preparePrivateDirectory(configuration.stateDir);
    const sidecar = new Sidecar(configuration, openLog(logPath(configuration.stateDir), configuration.logLevel));
    try {
      await sidecar.listen();
    } catch (thrown) {
      sidecar.abandonStart();
      throw thrown;
    }
    return sidecar;
  }

  private constructor(
    private readonly configuration: Configuration,
    private readonly log: Log,
  ) {
    const { limits, keepAliveMs, handshakeMs } = configuration;
    let open: (() => void) | undefined;
    const mayOpen = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.openEngine = () => open?.();
    // Others end with their input, and would take the sessions with them.
    this.engine = mayOpen.then(() => openEngine(configuration, log, this.hasPipe));
    this.engine
      .then((engine) =>
        this.removeTraces.push(() => {
          if (!this.keepsSessions) engine.killNow();
        }),
      )
      .catch((thrown: unknown) => log.error({ err: thrown }, 'the engine did not open'));
    this.server = new Server(this.engine, {
      transports: () => this.transports.map(({ kind }) => kind),
      features: () => [
        'persistent-state',
        'streaming',
        'background',
        'cancel',
        'recovery',
        'adoption',
        'wait',
        'input',
      ],
      shutDown: (keepsSessions) =>
        setImmediate(() => {
          this.keepsSessions ||= keepsSessions && !this.ending;
          this.end(keepsSessions ? 'asked to hand over' : 'asked to');
        }),
      logCommand: (fields) => log.info(fields, fields.outcome === undefined ? 'command started' : 'command ended'),
      reportBug: (method, thrown) => {
        if (!(thrown instanceof LimpetError)) log.error({ method, err: thrown }, 'request failed');
      },
    });
    this.clients = new Clients(limits.maxConnections, keepAliveMs, () => this.end('no client for the keep-alive time'));
    this.context = { server: this.server, limits, log, handshakeMs };
  }

  /** Called once it is certain that this process stays: opening sweeps what dead ones left. */
  private readonly openEngine: () => void;

  private async listen(): Promise<void> {
    const { stdio, stdin, socketPath, http, runtimeDir, stateDir } = this.configuration;
    const boundToInput = stdio || stdin;
    // Before anybody can see that it is there.
    this.obeySignals();
    // Whoever is bound to its input may end any moment, so it never becomes the one that others find.
    if (!boundToInput) await this.listenOnPipe(socketPath === undefined && http === undefined);
    if (socketPath !== undefined) {
      prepareSocketDirectory(socketPath);
      await this.listenOn('socket', socketPath, serveLines);
    }
    if (http !== undefined) await this.listenOnHttp();
    this.openEngine();
    if (stdio) this.serveProcessStreams('stdio', serveJsonRpc);
    if (stdin) this.serveProcessStreams('stdin', serveLines);
    this.removeTraces.push(writeDescriptor(runtimeDir, stateDir, this.transports));
    this.log.info({ transports: this.transports, node: process.version }, 'started');
  }

  private async listenOnPipe(isDaemon: boolean): Promise<void> {
    try {
      const claimed = await this.listenOn('pipe', pipePath(this.configuration.runtimeDir), serveJsonRpc);
      this.hasPipe = true;
      this.lookAfterPipe(claimed);
    } catch (thrown) {
      const lost = thrown instanceof Refusal && thrown.exitCode === exitCodes.alreadyRunning;
      if (isDaemon || !lost) throw thrown;
      this.log.info({}, 'another sidecar has the pipe; this one serves only its own transports');
    }
  }

  private async listenOn(kind: 'pipe' | 'socket', path: string, serve: Serve): Promise<ClaimedSocket> {
    const claimed = await claimSocket(path, (socket) => this.accept(kind, socket, serve));
    this.transports.push({ kind, path });
    this.stopListening.push(() => claimed.server.close());
    this.removeTraces.push(claimed.unlink);
    return claimed;
  }

  private accept(kind: 'pipe' | 'socket', socket: Socket, serve: Serve): void {
    if (this.clients.isFull || this.ending) {
      this.log.warn({ kind, clients: this.clients.size }, 'connection refused');
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    this.clients.add(serve(socket, socket, kind, this.context));
  }

  private async listenOnHttp(): Promise<void> {
    const { http, token, runtimeDir } = this.configuration;
    if (http === undefined) return;
    const { listenHttp } = await import('../transports/http');
    const listening = await listenHttp({ ...http, token, runtimeDir }, this.context, this.clients);
    this.transports.push({ kind: 'http', url: listening.url, tokenPath: listening.tokenPath });
    this.stopListening.push(listening.close);
    this.removeTraces.push(listening.removeToken);
    this.log.info({ url: listening.url, tokenPath: listening.tokenPath }, 'http is listening');
    process.stderr.write(`limpet sidecar: ${listening.url}, token ${listening.tokenPath ?? 'from LIMPET_TOKEN'}\n`);
  }

  private serveProcessStreams(kind: 'stdio' | 'stdin', serve: Serve): void {
    this.transports.push({ kind });
    const connection: Connection = serve(process.stdin, process.stdout, kind, {
      ...this.context,
      handshakeMs: 2 ** 31 - 1,
    });
    this.clients.add(connection);
    process.stdin.once('end', () => {
      within(inputGraceMs, connection.answered()).then(
        () => this.end('end of input'),
        () => this.end('end of input'),
      );
    });
    connection.onClosed(() => this.end('its client is gone'));
  }

  /**
   * Two sidecars never serve one path; should it come to that, the one that cannot be found any more leaves. A pipe that was
   * only removed, perhaps with the whole runtime directory, is made again.
   */
  private lookAfterPipe(claimed: ClaimedSocket): void {
    const check = setInterval(() => {
      if (claimed.isOurs()) return;
      if (!existsSync(claimed.path)) {
        clearInterval(check);
        void this.listenAgain(claimed);
      } else if (this.clients.size === 0) this.end('its pipe is gone');
    }, pipeLookMs);
    check.unref();
    this.stopListening.push(() => clearInterval(check));
  }

  private async listenAgain(removed: ClaimedSocket): Promise<void> {
    const { runtimeDir, stateDir } = this.configuration;
    try {
      preparePrivateDirectory(runtimeDir);
      const claimed = await claimSocket(removed.path, (socket) => this.accept('pipe', socket, serveJsonRpc));
      removed.server.close();
      this.stopListening.push(() => claimed.server.close());
      this.removeTraces.push(claimed.unlink, writeDescriptor(runtimeDir, stateDir, this.transports));
      this.log.warn({}, 'the pipe was removed and has been made again');
      this.lookAfterPipe(claimed);
    } catch (thrown) {
      this.log.warn({ err: thrown }, 'the pipe was removed and cannot be made again yet');
      this.lookAfterPipe(removed);
    }
  }

  private obeySignals(): void {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (this.ending) this.exit(signal === 'SIGINT' ? 130 : 143);
        this.end(signal);
      });
    }
    process.on('unhandledRejection', (thrown) => this.log.error({ err: thrown }, 'unhandled rejection'));
    process.on('uncaughtException', (thrown) => {
      this.log.fatal({ err: thrown }, 'uncaught exception');
      this.keepsSessions = true;
      this.end('uncaught exception', exitCodes.internal);
    });
  }

  /** Destroys or leaves every session, lets the answers out, removes every trace, and ends the process. Idempotent. */
  private end(reason: string, code: number = exitCodes.ok): void {
    if (this.ending) return;
    this.ending = true;
    this.log.info({ reason }, 'ending');
    setTimeout(() => {
      this.log.error({}, 'ending took too long');
      this.exit(exitCodes.internal);
    }, closeGraceMs).unref();
    this.windUp().then(
      () => this.exit(code),
      (thrown: unknown) => {
        this.log.error({ err: thrown }, 'ending failed');
        this.exit(exitCodes.internal);
      },
    );
  }

  private async windUp(): Promise<void> {
    const { keepsSessions } = this;
    const stopListening = () => {
      for (const stop of this.stopListening) stop();
    };
    this.server.refuseRequests();
    if (!keepsSessions) stopListening();
    const engine = await this.engine.catch(() => undefined);
    await (keepsSessions ? engine?.leave() : engine?.close());
    // Not before: the next one looks once, when it gets the pipe, for what is left for it.
    if (keepsSessions) stopListening();
    this.server.endChanges();
    await this.clients.farewell(answerGraceMs);
  }

  private abandonStart(): void {
    this.clients.dispose();
    for (const stop of this.stopListening) stop();
    for (const remove of this.removeTraces) remove();
    this.log.flush();
  }

  private exit(code: number): never {
    for (const remove of this.removeTraces) {
      try {
        remove();
      } catch {
        // The directory itself may be gone.
      }
    }
    this.log.flush();
    process.exit(code);
  }
}

async function openEngine(
  { runtimeDir, stateDir, shellEnv, limits }: Configuration,
  log: Log,
  adopt: boolean,
): Promise<SessionEngine> {
  const { Engine } = await import('../engine/engine');
  return Engine.open({ runtimeDir, stateDir, env: shellEnv, limits, log, adopt });
}
