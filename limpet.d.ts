/**
 * What the Limpet extension offers other extensions. Copy this file, then:
 *
 *     const limpet = await vscode.extensions.getExtension<LimpetApi>('limpet.limpet')?.activate();
 *     const { exitCode, stdout } = await limpet.run('npm test', { session: 'tests' });
 *
 * There is no API (`undefined`) where sessions cannot run, as on Windows outside WSL. Failures are errors with a `code` such as
 * "session_not_found" and a message that says what to do.
 */
export interface LimpetApi {
  /** Raised when something here changes its meaning. */
  readonly apiVersion: 1;

  /**
   * Runs a command in a session and answers with its result; a non-zero exit code is one.
   * Nobody is asked: an extension that runs what a model says must ask the user itself.
   */
  run(command: string, options?: RunOptions): Promise<CommandResult>;

  /** Starts a command in the background, as a server, and answers at once. */
  start(command: string, options?: Omit<RunOptions, 'onOutput' | 'cancellation'>): Promise<{ commandId: string }>;

  /** Waits for the end of a command, or until `timeoutMs` is over: then there is no result yet. */
  wait(commandId: string, timeoutMs?: number): Promise<CommandResult | undefined>;

  /** Ends a command and all its processes, and answers once it is gone. Its session lives on. */
  stop(commandId: string): Promise<void>;

  readonly sessions: {
    /** The sessions there are, oldest first. */
    list(): Promise<SessionInfo[]>;
    /** Starts a shell, by default in the first workspace folder and as the user's settings say. */
    create(options?: SessionOptions): Promise<SessionInfo>;
    /** Kills what the session runs, then its shell. */
    destroy(sessionId: string): Promise<void>;
    /** What runs or ran in a session, oldest first. */
    commands(sessionId: string): CommandSnapshot[];
    onDidChangeSession(listener: (session: SessionInfo) => void): Disposable;
    onDidChangeCommand(listener: (command: CommandSnapshot) => void): Disposable;
  };

  /** The process that runs the shells. */
  readonly sidecar: {
    readonly state: 'stopped' | 'starting' | 'running' | 'restarting' | 'failed';
    onDidChangeState(listener: (state: LimpetApi['sidecar']['state']) => void): Disposable;
  };
}

export interface Disposable {
  dispose(): void;
}

export interface RunOptions {
  /** Name or id of a session; a name that is not there yet makes one. Default: the session of the first workspace folder. */
  session?: string;
  /** Where to run it; the session itself stays where it is. */
  cwd?: string;
  /** Variables for this command only. */
  env?: Record<string, string>;
  /** The command is stopped after this long. */
  timeoutMs?: number;
  /** Who runs it, as people see it. Default: "extension". */
  origin?: string;
  /** Gets the output while it appears. */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Ends the command; a `vscode.CancellationToken` will do. */
  cancellation?: {
    readonly isCancellationRequested: boolean;
    onCancellationRequested(listener: () => void): Disposable;
  };
}

export interface SessionOptions {
  name?: string;
  cwd?: string;
  /** "bash", "zsh", or a path to one. */
  shell?: string;
  env?: Record<string, string>;
  /** "user" loads the user's start-up files. */
  profile?: 'clean' | 'user';
}

export interface SessionInfo {
  readonly sessionId: string;
  readonly name: string;
  readonly shell: string;
  readonly state: 'creating' | 'idle' | 'running' | 'terminated';
  readonly cwd: string;
  readonly pid: number | null;
  /** How often its shell ended and was replaced. */
  readonly restarts: number;
  readonly backgroundCount: number;
}

export type Outcome = 'exited' | 'signaled' | 'timed_out' | 'cancelled' | 'shell_exited';

export interface CommandSnapshot {
  readonly commandId: string;
  readonly sessionId: string;
  readonly command: string;
  readonly background: boolean;
  readonly origin: string;
  readonly state: 'queued' | 'running' | 'finished';
  /** ISO 8601. */
  readonly startedAt: string;
  readonly outcome?: Outcome | undefined;
  readonly exitCode?: number | null | undefined;
}

export interface CommandResult {
  readonly commandId: string;
  readonly sessionId: string;
  /** `shell_exited`: the command ended its shell, and the session goes on in a fresh one. */
  readonly outcome: Outcome;
  /** Never invented: null where it is not known. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The beginning and the end of what is too long; `truncated` tells. Bytes that are not UTF-8 are shown as U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
  /** Where the session is after the command. */
  readonly cwd: string;
  readonly durationMs: number;
  /** What else there is to know, for example what was restored after the shell ended. */
  readonly notes: readonly string[];
}
