import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LimpetError } from '../../protocol/errors';
import type { Params, Result } from '../../protocol/methods';
import type { CommandResult, OutputEvent, SessionInfo, StreamEvent } from '../../protocol/values';
import { Engine, type EngineOptions } from '../../sidecar/engine/engine';

export const shells = ['bash', 'zsh'] as const;

/** An engine in directories of its own, and everything that was opened with it, to be disposed of together. */
export class OpenedEngine {
  private made = 0;
  private constructor(
    readonly engine: Engine,
    /** Holds everything: the engine's directories and what tests make. */
    readonly root: string,
    readonly runtimeDir: string,
    readonly stateDir: string,
  ) {}

  static async open(options: Partial<EngineOptions> = {}): Promise<OpenedEngine> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'limpet-test-')));
    const [runtimeDir, stateDir] = [join(root, 'run'), join(root, 'state')];
    const engine = await Engine.open({ runtimeDir, stateDir, ...options });
    return new OpenedEngine(engine, root, options.runtimeDir ?? runtimeDir, options.stateDir ?? stateDir);
  }

  /** A new empty directory that goes away with the engine. */
  async directory(): Promise<string> {
    const path = join(this.root, `dir-${++this.made}`);
    await mkdir(path);
    return path;
  }

  async session(shell: string, params: Params<'session.create'> = {}): Promise<OpenedSession> {
    const cwd = params.cwd ?? (await this.directory());
    return new OpenedSession(this.engine, await this.engine.createSession({ shell, ...params, cwd }), cwd);
  }

  async dispose(): Promise<void> {
    await this.engine.close();
    await rm(this.root, { recursive: true, force: true });
  }
}

type RunExtras = Omit<Params<'exec.run'>, 'sessionId' | 'command'>;
type StartExtras = Omit<Params<'exec.start'>, 'sessionId' | 'command'>;

/** A session with its id filled in. */
export class OpenedSession {
  constructor(
    readonly engine: Engine,
    readonly created: SessionInfo,
    /** Where it began. */
    readonly cwd: string,
  ) {}

  get id(): string {
    return this.created.sessionId;
  }

  info(): SessionInfo {
    return this.engine.sessionInfo(this.id);
  }

  run(command: string, extras: RunExtras = {}): Promise<CommandResult> {
    return this.engine.run({ sessionId: this.id, command, ...extras });
  }

  /** The bytes of stdout of a command, as text. */
  async text(command: string, extras: RunExtras = {}): Promise<string> {
    return (await this.run(command, extras)).stdout;
  }

  async start(command: string, extras: StartExtras = {}): Promise<StartedCommand> {
    const { commandId, pid } = await this.engine.start({ sessionId: this.id, command, ...extras });
    return new StartedCommand(this.engine, commandId, pid);
  }

  async stream(command: string, extras: RunExtras = {}): Promise<{ events: StreamEvent[]; result: CommandResult }> {
    const events: StreamEvent[] = [];
    const result = await this.engine.stream({ sessionId: this.id, command, ...extras }, (event) => {
      events.push(event);
    });
    return { events, result };
  }

  /** Asserts the whole result of a command, apart from what differs from run to run; what is not named must be plain. */
  async expect(command: string, expected: Expected = {}, extras: RunExtras = {}): Promise<CommandResult> {
    const result = await this.run(command, extras);
    this.assertResult(result, command, expected);
    return result;
  }

  assertResult(result: CommandResult, command: string, expected: Expected = {}): void {
    const { commandId, startedAt, durationMs, logPath, stderr, notes, ...steady } = result;
    assert.ok(commandId.startsWith(this.id), `the id ${commandId} belongs to ${this.id}`);
    assert.ok(Number.isFinite(Date.parse(startedAt)), `${startedAt} is a time`);
    assert.ok(durationMs >= 0, `${durationMs} is a duration`);
    assert.ok(logPath.length > 0, 'the log has a path');
    const { stderr: wantedStderr = '', notes: wantedNotes = 'none', ...rest } = expected;
    const matched = wantedStderr instanceof RegExp;
    if (matched) assert.match(stderr, wantedStderr);
    if (wantedNotes === 'some') assert.ok(notes.length > 0, 'the result has notes');
    const plain = {
      sessionId: this.id,
      command,
      outcome: 'exited',
      exitCode: 0,
      signal: null,
      stdout: '',
      stdoutBytes: Buffer.byteLength(rest.stdout ?? ''),
      stderrBytes: matched ? result.stderrBytes : Buffer.byteLength(wantedStderr),
      encoding: { stdout: 'utf8', stderr: 'utf8' },
      truncated: { stdout: false, stderr: false },
      cwd: this.cwd,
    };
    assert.deepEqual(
      { ...steady, stderr: matched ? '' : stderr, notes: wantedNotes === 'none' ? notes : [] },
      { ...plain, ...rest, stderr: matched ? '' : wantedStderr, notes: [] },
    );
  }

  async destroy(): Promise<void> {
    await this.engine.destroySession(this.id);
  }
}

/** What a result must be, where it is not that of a silent success in the session's first directory. */
export type Expected = Partial<
  Pick<
    CommandResult,
    | 'outcome'
    | 'exitCode'
    | 'signal'
    | 'stdout'
    | 'stdoutBytes'
    | 'stderrBytes'
    | 'encoding'
    | 'truncated'
    | 'cwd'
    | 'heldOpenBy'
  >
> & { stderr?: string | RegExp; notes?: 'none' | 'some' };

export class StartedCommand {
  constructor(
    readonly engine: Engine,
    readonly id: string,
    readonly pid: number | undefined,
  ) {}

  /** Waits for a condition, or without one for the end; the default deadline makes a hang a failure and not a stall. */
  wait(until?: Params<'exec.wait'>['until'], timeoutMs = 20_000): Promise<Result<'exec.wait'>> {
    return this.engine.wait({ commandId: this.id, timeoutMs, ...(until ? { until } : {}) });
  }

  output(params: Omit<Params<'exec.output'>, 'commandId'> = {}): Promise<Result<'exec.output'>> {
    return this.engine.output({ commandId: this.id, ...params });
  }

  async stdout(): Promise<string> {
    const { chunks } = await this.output({ stream: 'stdout' });
    return chunks.map(({ data }) => data).join('');
  }

  input(data: string): Promise<void> {
    return this.engine.input({ commandId: this.id, data });
  }

  end(): Promise<void> {
    return this.engine.input({ commandId: this.id, eof: true });
  }

  cancel(signal?: Params<'exec.cancel'>['signal']): Promise<Result<'exec.cancel'>> {
    return this.engine.cancel({ commandId: this.id, ...(signal ? { signal } : {}) });
  }
}

/** Polls until the condition holds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs} ms in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

let reaches = 0;

/**
 * Runs a command up to its time-out, and once more with a longer one while the machine is too slow: the command has to get to
 * the line `reached` before its time is over.
 */
export async function timesOut<T>(
  directory: string,
  run: (reached: string, timeoutMs: number) => Promise<T>,
): Promise<T> {
  const mark = join(directory, `reached-${++reaches}`);
  for (let timeoutMs = 200; timeoutMs < 20_000; timeoutMs *= 4) {
    const ended = await run(`: > '${mark}'`, timeoutMs);
    if (existsSync(mark)) return ended;
  }
  throw new Error('The command never got to where its time-out was to find it.');
}

/** Asserts that a call fails with a code, in words that say something and give nothing away. */
export async function fails(call: () => unknown, code: LimpetError['code']): Promise<LimpetError> {
  try {
    await call();
  } catch (thrown) {
    assert.ok(thrown instanceof LimpetError, `${String(thrown)} is a failure with a code`);
    assert.equal(thrown.code, code);
    assert.ok(thrown.message.length > 10, 'the message says what to do');
    assert.doesNotMatch(thrown.message, /\n\s+at |\.ts:\d/);
    return thrown;
  }
  throw new assert.AssertionError({ message: `The call was answered instead of failing with ${code}.` });
}

export const isOutput = (event: StreamEvent): event is OutputEvent => event.event !== 'gap';

/** The bytes of one stream, put together from events or chunks. */
export function bytesOf(pieces: ReadonlyArray<Pick<OutputEvent, 'data' | 'encoding'>>): Buffer {
  return Buffer.concat(
    pieces.map(({ data, encoding }) => Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')),
  );
}

export interface ShellSuite {
  readonly shell: (typeof shells)[number];
  readonly opened: OpenedEngine;
  /** A new session for each test. */
  readonly session: OpenedSession;
}

/** The same tests for every shell; one engine serves a suite, each test has a session of its own. */
export function forEachShell(title: string, define: (suite: ShellSuite) => void): void {
  for (const shell of shells) {
    describe(`${title}, in ${shell}`, () => {
      let opened: OpenedEngine | undefined;
      let session: OpenedSession | undefined;
      const suite: ShellSuite = {
        shell,
        get opened() {
          assert.ok(opened, 'the engine is open while a test runs');
          return opened;
        },
        get session() {
          assert.ok(session, 'the session is open while a test runs');
          return session;
        },
      };
      before(async () => {
        opened = await OpenedEngine.open();
      });
      beforeEach(async () => {
        session = await suite.opened.session(shell);
      });
      afterEach(async () => {
        const { engine } = suite.opened;
        await Promise.all(engine.listSessions().map(({ sessionId }) => engine.destroySession(sessionId)));
      });
      after(() => opened?.dispose());
      define(suite);
    });
  }
}
