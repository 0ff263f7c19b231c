import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { failure } from '../../protocol/errors';
import type { Limits } from '../../protocol/limits';
import type { Params } from '../../protocol/methods';
import type { SessionInfo } from '../../protocol/values';
import { reach } from '../checkpoints';
import type { LogStore } from '../output/log-store';
import { killSessions } from '../processes/command-processes';
import { findShell } from '../shells/find-shells';
import type { Command } from './command';
import { DirectoryWatch } from './directory-watch';
import { newSessionId } from './ids';
import { isDirectory } from './recovery';
import { Session } from './session';
import { SessionDirectories, SessionDirectory } from './session-directory';
import { disown, type Orphan, own } from './sweep';

const leaveGraceMs = 8000;

/** The part of a pino logger the engine uses. Command texts and environment values are never passed to it. */
export interface EngineLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What every session is given by its engine. */
export interface Surroundings {
  /** Holds a directory for each session. */
  root: string;
  logs: LogStore;
  limits: Limits;
  /** The outermost layer of the environment. */
  env: Record<string, string>;
  log: EngineLog;
  onChange: (session: Session, command?: Command) => void;
  onGone: (session: Session) => void;
  onFinished: (command: Command) => void;
  onOutputEnded: (command: Command) => void;
}

/** The sessions there are: made, adopted, looked up, destroyed and left for another sidecar, one by one or all together. */
export class Sessions {
  private readonly sessions = new Map<string, Session>();
  private readonly creating = new Set<Promise<SessionInfo>>();
  private readonly directories: SessionDirectories;
  private readonly watch: DirectoryWatch;
  private isClosing = false;
  private dying: Session[] | undefined;
  private killing: Promise<unknown> = Promise.resolve();
  /** Those of which it was said that their directory cannot be made again. */
  private readonly lost = new WeakSet<Session>();

  constructor(private readonly surroundings: Surroundings) {
    const { root } = surroundings;
    this.directories = new SessionDirectories(root);
    this.watch = new DirectoryWatch(root, (name) => {
      if (name === null || this.sessions.has(name)) this.lookAfterDirectories();
      if (name === null) for (const session of this.all) session.lookAfterSlots();
    });
  }

  get all(): Session[] {
    return [...this.sessions.values()];
  }

  get(sessionId: string): Session {
    const session = this.sessions.get(sessionId);
    if (session === undefined) throw failure.sessionNotFound(sessionId);
    return session;
  }

  command(commandId: string): { command: Command; session: Session } {
    const session = this.sessions.get(commandId.slice(0, commandId.lastIndexOf(':')));
    const command = session?.commands.get(commandId);
    if (session === undefined || command === undefined) throw failure.commandNotFound(commandId);
    return { command, session };
  }

  create(wanted: Params<'session.create'>): Promise<SessionInfo> {
    const creation = this.make(wanted).finally(() => this.creating.delete(creation));
    this.creating.add(creation);
    return creation;
  }

  /** Makes a session's directory ahead of need. */
  prepare(): void {
    this.directories.prepare();
  }

  adopt({ sessionId, directory, isBereft, saved }: Orphan): void {
    const { foundation, condition } = saved;
    const { log } = this.surroundings;
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
          ...this.given(),
        },
        saved,
      );
      this.sessions.set(sessionId, session);
      log.info({ sessionId, commands: session.commands.count }, 'session adopted');
    } catch (error) {
      log.error({ sessionId, err: error }, 'a session could not be adopted and was left alone');
      disown(directory);
    }
  }

  async destroy(sessionId: string): Promise<void> {
    await this.end(sessionId, this.killTogether(this.get(sessionId)));
  }

  /** Destroys them all. */
  async close(): Promise<void> {
    this.isClosing = true;
    const sessions = this.all;
    // All at once: each session looking for its own processes would look at all those of the others as well.
    const killing = killSessions(() => sessions.map(({ traces }) => traces));
    await Promise.all(sessions.map(({ id }) => this.end(id, killing).catch(() => {})));
    await Promise.allSettled(this.creating);
    await this.dispose();
  }

  /** Lets go of them all without ending any: whoever opens the same directories next goes on with them. */
  async leave(): Promise<void> {
    this.isClosing = true;
    for (const session of this.all) this.leaveSession(session);
    // What is being made or destroyed is nobody else's business, so it is waited for.
    const endings = this.all.map(({ ending }) => ending);
    await Promise.race([Promise.allSettled([...this.creating, ...endings]), pause(leaveGraceMs, null, { ref: false })]);
    await this.dispose();
  }

  /** For a process that ends at once: kills what is left of every session, and waits for nothing. */
  killNow(): void {
    for (const session of this.all) session.killNow();
  }

  refuseWhenClosing(): void {
    if (this.isClosing) throw failure.shuttingDown();
  }

  private async make(wanted: Params<'session.create'>): Promise<SessionInfo> {
    this.refuseWhenClosing();
    if (wanted.pty === true) {
      throw failure.notSupported('Sessions with a terminal (pty) are not available yet. Leave pty out.');
    }
    const { limits, log, onChange } = this.surroundings;
    if (this.sessions.size + this.creating.size >= limits.maxSessions) throw failure.sessionLimit(limits.maxSessions);
    const env = { ...this.surroundings.env, ...wanted.env };
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
      ...this.given(),
    });
    // While the shell starts, the next session's directory is made.
    this.directories.prepare();
    const session = await creation;
    if (this.isClosing) {
      await session.destroy();
      throw failure.shuttingDown();
    }
    this.sessions.set(id, session);
    log.info({ sessionId: id, shell: shell.dialect.name }, 'session created');
    onChange(session);
    return session.info();
  }

  private given() {
    const { logs, limits, log, onChange, onFinished, onOutputEnded } = this.surroundings;
    return {
      ...{ logs, limits, onFinished, onOutputEnded },
      // Nobody has heard of one that is being made, nor hears again of one that is gone.
      onChange: (session: Session, command?: Command) => {
        if (this.sessions.has(session.id)) onChange(session, command);
      },
      onIdleTimeout: (session: Session) => void this.destroy(session.id).catch(() => {}),
      onBug: (session: Session, thrown: unknown) =>
        log.error({ sessionId: session.id, err: thrown }, 'a command could not be run'),
      onUnrecorded: (session: Session, error: unknown) =>
        log.warn({ sessionId: session.id, err: error }, 'the journal of a session cannot be written'),
    };
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

  private async end(sessionId: string, killing: Promise<unknown>): Promise<void> {
    const session = this.get(sessionId);
    await session.destroy(killing);
    // Another call may have destroyed it at the same time.
    if (!this.sessions.delete(sessionId)) return;
    this.surroundings.log.info({ sessionId }, 'session destroyed');
    this.surroundings.onGone(session);
  }

  /** What happens to one keeps no other from being left. */
  private leaveSession(session: Session): void {
    try {
      session.leave();
    } catch (error) {
      this.surroundings.log.error({ sessionId: session.id, err: error }, 'a session could not be left in order');
    }
  }

  /** Somebody may remove the runtime directory, as a clean-up of temporary files does. */
  private lookAfterDirectories(): void {
    const homeless = this.all.filter((session) => !session.hasDirectory);
    if (this.watch.isCurrent && homeless.length === 0) return;
    const { root, logs } = this.surroundings;
    try {
      mkdirSync(root, { recursive: true, mode: 0o700 });
    } catch {
      // On a disk that is full or read-only; it is tried again at the next look.
      return;
    }
    for (const session of homeless) this.restoreDirectory(session);
    logs.reopenJournal();
    this.watch.renew();
  }

  private restoreDirectory(session: Session): void {
    const sessionId = session.id;
    const { log } = this.surroundings;
    try {
      session.restoreDirectory();
      log.warn({ sessionId }, 'the directory of a session was removed and has been made again');
    } catch (error) {
      if (!this.lost.has(session)) log.error({ sessionId, err: error }, 'a directory could not be made again');
      this.lost.add(session);
    }
  }

  private async dispose(): Promise<void> {
    this.watch.dispose();
    await this.directories.dispose();
  }
}
