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
import { Occurrence } from '../occurrence';
import type { Notices } from '../output/capture';
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

/** What is known of both streams, at one moment. */
type StreamTexts = Pick<CommandResult, 'stdout' | 'stderr' | 'encoding' | 'truncated' | 'stdoutBytes' | 'stderrBytes'>;

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
  /** The subshell of a background command, which reports it. */
  subshell: ProcessIdentity | undefined;
  /** The child of that which runs it: whoever signals a background command means this one. */
  runner: number | undefined;
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
  private readonly over = new Occurrence();

  constructor(
    readonly sessionId: string,
    readonly number: number,
    readonly request: CommandRequest,
    readonly output: CommandOutput,
  ) {
    this.id = `${sessionId}:${number}`;
    this.finished = new Promise((resolve) => {
      this.over.once(resolve);
    });
  }

  /** As `finished`, for whoever may stop waiting before: the answer does that. */
  whenFinished(callback: () => void): () => void {
    return this.over.once(callback);
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
    return this.runner ?? this.subshell?.pid;
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
    this.dropWhatItWasGiven();
    this.output.release();
    this.over.happen();
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
    if (captured !== undefined) this.texts = this.render(captured, this.output.bytes);
    const printed = this.output.bytes.stdout + this.output.bytes.stderr;
    this.output.release();
    this.over.happen();
    // Whoever waited for the end has the whole text by now; the rest of its life it is read from the log, if that has it all.
    if (printed > rememberedBytes && this.output.log.stopped === undefined)
      setImmediate(() => setImmediate(() => this.forgetTexts()));
  }

  /** Another sidecar goes on with it; whoever waits here is told so. */
  handOver(): void {
    this.error = failure.handedOver(this.id);
    this.over.happen();
  }

  /** It is over and never runs again, so its input and environment, which may be large, are not needed any more. */
  dropWhatItWasGiven(): void {
    const { request } = this;
    if (request.stdin.kind === 'text') request.stdin = { kind: 'none' };
    if (request.overrides !== undefined) request.overrides = { ...request.overrides, env: {} };
    this.earlyInput = [];
  }

  /** It could not be run; nothing was executed. */
  fail(error: LimpetError): void {
    this.error ??= error;
    this.finish({ outcome: 'cancelled', exitCode: null, signal: null, cwd: '', notes: [error.message] });
  }

  /** The whole result. */
  async result(maxOutputBytes?: number): Promise<CommandResult> {
    const texts = maxOutputBytes === undefined ? this.textsAtHand : undefined;
    if (texts !== undefined) return this.withTexts(texts);
    const read = await this.readTexts(maxOutputBytes ?? this.request.maxOutputBytes);
    return this.withTexts(read.texts, read.missing);
  }

  /** The result if it is at hand, as it is right after the end: saves whoever runs many commands a turn. */
  get resultAtHand(): CommandResult | undefined {
    const texts = this.textsAtHand;
    return texts === undefined ? undefined : this.withTexts(texts);
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

  /** Not if what the command left behind has printed since: then the log has more, if it takes any. */
  private get textsAtHand(): StreamTexts | undefined {
    const { texts, output } = this;
    if (texts === undefined) return undefined;
    const isGrown = {
      stdout: texts.stdoutBytes < output.bytes.stdout,
      stderr: texts.stderrBytes < output.bytes.stderr,
    };
    if (!isGrown.stdout && !isGrown.stderr) return texts;
    if (output.log.stopped === undefined) {
      this.forgetTexts();
      return undefined;
    }
    const truncated = {
      stdout: texts.truncated.stdout || isGrown.stdout,
      stderr: texts.truncated.stderr || isGrown.stderr,
    };
    const withNotice = (stream: StreamName, shown: number) =>
      isGrown[stream] && texts.encoding[stream] === 'utf8'
        ? texts[stream] + this.notices(stream).behind(output.bytes[stream] - shown)
        : texts[stream];
    const stdout = withNotice('stdout', texts.stdoutBytes);
    const stderr = withNotice('stderr', texts.stderrBytes);
    return { ...texts, stdout, stderr, truncated, ...byteCounts(output.bytes) };
  }

  private forgetTexts(): void {
    this.texts = undefined;
  }

  private shortTexts(): Partial<StreamTexts> {
    const texts = this.textsAtHand;
    return texts !== undefined && texts.stdout.length + texts.stderr.length <= listedBytes ? texts : {};
  }

  private withTexts(texts: StreamTexts, missing = 0): CommandResult {
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
      stdoutBytes: texts.stdoutBytes,
      stderrBytes: texts.stderrBytes,
      cwd: end.cwd,
      durationMs: this.durationMs,
      startedAt: isoTime(this.startedAt),
      logPath: this.output.log.path,
      notes: [...end.notes, ...this.logNotes(missing)],
    };
    if (end.heldOpenBy !== undefined) result.heldOpenBy = end.heldOpenBy;
    return result;
  }

  private logNotes(missing: number): string[] {
    const { log, unlogged } = this.output;
    if (log.stopped !== undefined)
      return [`Not all output is in the log: ${log.stopped}; ${unlogged} bytes are missing there.`];
    if (missing === 0) return [];
    return [`Its log had to make room for others, or somebody removed it; ${missing} bytes are missing.`];
  }

  private async readTexts(limit: number): Promise<{ texts: StreamTexts; missing: number }> {
    const { log } = this.output;
    log.save();
    // As it is now: what is printed while it is read is neither shown nor counted.
    const bytes = this.output.passed;
    const captures = await recapture(log.path, limit, log.size);
    const missing = bytes.stdout - captures.stdout.total + bytes.stderr - captures.stderr.total;
    return { texts: this.render(captures, bytes), missing };
  }

  private render(captures: Captures, bytes: Record<StreamName, number>): StreamTexts {
    const stdout = this.renderStream('stdout', captures, bytes);
    const stderr = this.renderStream('stderr', captures, bytes);
    // What is in no log any more is missing, whatever the limit.
    const isCut = (stream: StreamName) => {
      const capture = captures[stream];
      return capture !== undefined && (capture.isCut || capture.total < bytes[stream]);
    };
    return {
      stdout: stdout.data,
      stderr: stderr.data,
      encoding: { stdout: stdout.encoding, stderr: stderr.encoding },
      truncated: { stdout: isCut('stdout'), stderr: isCut('stderr') },
      ...byteCounts(bytes),
    };
  }

  private renderStream(
    stream: StreamName,
    captures: Captures,
    bytes: Record<StreamName, number>,
  ): { data: string; encoding: Encoding } {
    return captures[stream]?.render(this.notices(stream), bytes[stream]) ?? { data: '', encoding: 'utf8' };
  }

  private notices(stream: StreamName): Notices {
    const has = this.output.log.stopped === undefined ? 'has them' : 'has what of them is in the log';
    return {
      between: (missing) =>
        `\n[limpet: ${missing} bytes of ${stream} left out here; exec.output with command_id "${this.id}" ${has}]\n`,
      behind: (missing) => `\n[limpet: ${missing} bytes of ${stream} left out here; they are in no log]\n`,
    };
  }
}

const byteCounts = ({ stdout, stderr }: Record<StreamName, number>) => ({ stdoutBytes: stdout, stderrBytes: stderr });
