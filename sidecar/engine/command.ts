import { failure, type LimpetError } from '../../protocol/errors';
import type {
  CommandResult,
  CommandSnapshot,
  CommandState,
  Encoding,
  Holder,
  Outcome,
  StreamName,
} from '../../protocol/values';
import type { Captures, CommandOutput } from '../output/command-output';
import { recapture } from '../output/recapture';
import type { Slot } from '../output/slot';
import type { ProcessIdentity } from '../processes/identity';
import type { Overrides } from '../shells/dialect';
import { isoTime } from './times';

/** What is remembered in memory of a finished command's output; more is read back from its log. */
const rememberedBytes = 16 * 1024;
const listedBytes = 4 * 1024;

const bereft = 'The sidecar was killed while this ran: up to 64 KiB of each stream may be missing.';

export interface CommandRequest {
  text: string;
  background: boolean;
  origin: string;
  stdin: { kind: 'none' } | { kind: 'text'; text: string } | { kind: 'open' };
  overrides: Overrides | undefined;
  timeoutMs: number | undefined;
  maxOutputBytes: number;
}

/** How a command ended. */
export interface Ending {
  outcome: Outcome;
  exitCode: number | null;
  signal: string | null;
  cwd: string;
  notes: string[];
  heldOpenBy?: Holder[];
}

type StreamTexts = Pick<CommandResult, 'stdout' | 'stderr' | 'encoding' | 'truncated'>;

/** One command of a session, from the queue to its result. */
export class Command {
  readonly id: string;
  readonly finished: Promise<void>;
  state: CommandState = 'queued';
  /** Why it was made to end, if it was. */
  ending: 'cancelled' | 'timed_out' | undefined;
  /** What an interrupt would have ended was killed instead. */
  isKilledForInterrupt = false;
  /** The one attempt to make it end; whoever asks again waits for it too. */
  interruption: Promise<void> | undefined;
  slot: Slot | undefined;
  /** The subshell of a background command. */
  subshell: ProcessIdentity | undefined;
  /** What keeps its input open should the sidecar be gone. */
  inputKeeper: ProcessIdentity | undefined;
  /** Input that was taken before the command could be given it. */
  earlyInput: Buffer[] = [];
  /** Somebody has asked for the end of its input. */
  inputEnded = false;
  /** A sidecar was killed while it ran, with what it had just read of the output in its hands. */
  isBereft = false;
  /** Milliseconds since 1970. */
  startedAt = Date.now();
  startedMonotonic = performance.now();
  end: Ending | undefined;
  /** Why it could not be run at all. */
  error: LimpetError | undefined;
  private starting: { promise: Promise<void>; resolve: () => void } | undefined;
  private durationMs = 0;
  private texts: StreamTexts | undefined;
  private resolveFinished: () => void = () => {};

  constructor(
    readonly sessionId: string,
    readonly number: number,
    readonly request: CommandRequest,
    readonly output: CommandOutput,
  ) {
    this.id = `${sessionId}:${number}`;
    this.finished = new Promise((resolve) => {
      this.resolveFinished = resolve;
    });
  }

  /** Resolves when a background command's subshell is there. */
  get started(): Promise<void> {
    return this.start.promise;
  }

  onStarted(): void {
    this.start.resolve();
  }

  /** Made when it is first asked for: most commands run in the foreground. */
  private get start() {
    if (this.starting === undefined) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.starting = { promise, resolve };
    }
    return this.starting;
  }

  get pid(): number | undefined {
    return this.subshell?.pid;
  }

  get isFinished(): boolean {
    return this.state === 'finished';
  }

  /** Enough to recognise it by. */
  brief(): { commandId: string; command: string; startedAt: string } {
    return { commandId: this.id, command: this.request.text, startedAt: isoTime(this.startedAt) };
  }

  begin(): void {
    this.state = 'running';
    this.startedAt = Date.now();
    this.startedMonotonic = performance.now();
  }

  /** It was begun by another sidecar; `startedMonotonic` is in this process's terms. */
  resume(startedAt: number, startedMonotonic: number): void {
    this.state = 'running';
    this.startedAt = startedAt;
    this.startedMonotonic = startedMonotonic;
  }

  /** It had already ended when another sidecar had it. */
  resumeEnded(end: Ending, startedAt: number, tookMs: number): void {
    this.state = 'finished';
    this.end = end;
    this.startedAt = startedAt;
    this.durationMs = tookMs;
    this.output.release();
    this.resolveFinished();
  }

  get tookMs(): number {
    return this.durationMs;
  }

  /** Once; what comes later changes nothing. */
  finish(end: Ending): void {
    if (this.isFinished) return;
    this.output.flush();
    // To the microsecond: what is beyond that is noise, and takes its time to be put into words.
    this.durationMs =
      this.state === 'queued' ? 0 : Math.round((performance.now() - this.startedMonotonic) * 1000) / 1000;
    this.state = 'finished';
    this.end = this.isBereft ? { ...end, notes: [...end.notes, bereft] } : end;
    const { captured } = this.output;
    if (captured !== undefined) this.texts = this.render(captured);
    const printed = this.output.bytes.stdout + this.output.bytes.stderr;
    this.output.release();
    this.resolveFinished();
    // Whoever waited for the end has the whole text by now; the rest of its life it is read from the log.
    if (printed > rememberedBytes) setImmediate(() => setImmediate(() => this.forgetTexts()));
  }

  /** Another sidecar goes on with it; whoever waits here is told so. */
  handOver(): void {
    this.error = failure.handedOver(this.id);
    this.resolveFinished();
  }

  /** It could not be run; nothing was executed. */
  fail(error: LimpetError): void {
    this.error ??= error;
    this.finish({ outcome: 'cancelled', exitCode: null, signal: null, cwd: '', notes: [error.message] });
  }

  /** The whole result. */
  async result(maxOutputBytes?: number): Promise<CommandResult> {
    const texts =
      maxOutputBytes === undefined && this.texts !== undefined
        ? this.texts
        : await this.readTexts(maxOutputBytes ?? this.request.maxOutputBytes);
    return this.withTexts(texts);
  }

  /** The result if it is at hand, as it is right after the end: saves whoever runs many commands a turn. */
  get resultAtHand(): CommandResult | undefined {
    return this.texts === undefined ? undefined : this.withTexts(this.texts);
  }

  /** The command as it is now; of a finished one's output only a little. */
  snapshot(): CommandSnapshot {
    const identity = {
      commandId: this.id,
      sessionId: this.sessionId,
      command: this.request.text,
      startedAt: isoTime(this.startedAt),
      stdoutBytes: this.output.bytes.stdout,
      stderrBytes: this.output.bytes.stderr,
      background: this.request.background,
      origin: this.request.origin,
      state: this.state,
      logPath: this.output.log.path,
      ...(this.pid === undefined ? {} : { pid: this.pid }),
    };
    if (this.end === undefined) return identity;
    return { ...identity, ...this.end, durationMs: this.durationMs, ...this.shortTexts() };
  }

  private forgetTexts(): void {
    this.texts = undefined;
  }

  private shortTexts(): Partial<StreamTexts> {
    const { texts } = this;
    return texts !== undefined && texts.stdout.length + texts.stderr.length <= listedBytes ? texts : {};
  }

  private withTexts(texts: StreamTexts): CommandResult {
    const end = this.end as Ending;
    const result: CommandResult = {
      commandId: this.id,
      sessionId: this.sessionId,
      command: this.request.text,
      outcome: end.outcome,
      exitCode: end.exitCode,
      signal: end.signal,
      stdout: texts.stdout,
      stderr: texts.stderr,
      encoding: texts.encoding,
      truncated: texts.truncated,
      stdoutBytes: this.output.bytes.stdout,
      stderrBytes: this.output.bytes.stderr,
      cwd: end.cwd,
      durationMs: this.durationMs,
      startedAt: isoTime(this.startedAt),
      logPath: this.output.log.path,
      notes: this.output.log.stopped === undefined ? end.notes : [...end.notes, this.logNote(this.output.log.stopped)],
    };
    if (end.heldOpenBy !== undefined) result.heldOpenBy = end.heldOpenBy;
    return result;
  }

  private logNote(why: string): string {
    return `Not all output is in the log: ${why}; ${this.output.unlogged} bytes are missing there.`;
  }

  private async readTexts(limit: number): Promise<StreamTexts> {
    this.output.log.save();
    const captures = await recapture(this.output.log.path, limit);
    const texts = this.render(captures);
    // What is in no log any more is missing, whatever the limit.
    for (const stream of ['stdout', 'stderr'] as const) {
      texts.truncated[stream] ||= captures[stream].total < this.output.bytes[stream];
    }
    return texts;
  }

  private render(captures: Captures): StreamTexts {
    const stdout = this.renderStream('stdout', captures);
    const stderr = this.renderStream('stderr', captures);
    return {
      stdout: stdout.data,
      stderr: stderr.data,
      encoding: { stdout: stdout.encoding, stderr: stderr.encoding },
      truncated: { stdout: captures.stdout?.isCut ?? false, stderr: captures.stderr?.isCut ?? false },
    };
  }

  private renderStream(stream: StreamName, captures: Captures): { data: string; encoding: Encoding } {
    const notice = (missing: number) =>
      `\n[limpet: ${missing} bytes of ${stream} left out here; exec.output with command_id "${this.id}" has them]\n`;
    return captures[stream]?.render(notice) ?? { data: '', encoding: 'utf8' };
  }
}
