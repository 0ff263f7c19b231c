import { setFlagsFromString } from 'node:v8';
import { type Context, createContext, Script } from 'node:vm';
import { failure } from '../../protocol/errors';
import { needDescriptors } from '../processes/need-descriptors';

// Most patterns are matched in linear time with this, soon after they begin to look back; those with lookarounds or
// backreferences are not. The count begins anew at each character, so it has to be small.
setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
setFlagsFromString('--regexp-backtracks-before-fallback=100');
// So that it can be asked whether a pattern is one of those.
setFlagsFromString('--enable-experimental-regexp-engine');

/** Nobody else has a turn while a pattern is matched. */
const longestMs = 1000;
/** A look that takes no more than this is none to be counted. */
const shortMs = 50;
/** What a look of limited time opens besides its thread. */
const descriptorsToLimit = 8;

/** A user's regular expression. What is matched with it is broken off if it takes too long. */
export class Pattern {
  readonly expression: RegExp;
  /** So much time all looks together may take, beyond what is short. */
  private leftMs = longestMs;
  private readonly isQuick: boolean;

  constructor(
    source: string,
    private readonly field: string,
  ) {
    try {
      this.expression = new RegExp(source, 'm');
    } catch (error) {
      throw failure.invalidParams(`${field} is not a regular expression: ${(error as Error).message}`);
    }
    this.isQuick = isQuick(source);
  }

  /** Does work that only matches: it may end anywhere, without its `finally`. For many small texts at once, since it may cost a thread. */
  look<R>(work: () => R): R {
    // Not the time of day: on a busy machine others use much of that.
    const before = process.cpuUsage();
    const result = this.isQuick ? work() : this.withinLimit(work);
    const { user, system } = process.cpuUsage(before);
    this.leftMs -= Math.max(0, (user + system) / 1000 - shortMs);
    if (this.leftMs < 0) throw this.tooSlow();
    return result;
  }

  private withinLimit<R>(work: () => R): R {
    // Node itself would break off without them, and the sidecar with it.
    needDescriptors(descriptorsToLimit);
    limited ??= new LimitedRun();
    try {
      return limited.run(work, longestMs);
    } catch (error) {
      throw isTimeOut(error) ? this.tooSlow() : error;
    }
  }

  private tooSlow(): Error {
    return failure.invalidParams(
      `${this.field} takes too long to match, as repetitions within repetitions do together with lookarounds or ` +
        'backreferences. Write it without them.',
    );
  }
}

/** Whether a look cannot take long, so that it needs no limit: matched in linear time, and with little to try at each place. */
function isQuick(source: string): boolean {
  const repetitions = source.match(/[*+?]|\{\d/g) ?? [];
  if (source.length > 100 || repetitions.length > 8 || repetitions.some((one) => one.startsWith('{'))) return false;
  try {
    return new RegExp(source, 'ml').multiline;
  } catch {
    return false;
  }
}

/** Runs a function for so long at most. The engine can only be told so for a script, so a script calls it. */
class LimitedRun {
  private readonly globals: { work?: (() => unknown) | undefined } = {};
  private readonly context: Context = createContext(this.globals);
  private readonly script = new Script('work()');

  run<R>(work: () => R, timeout: number): R {
    this.globals.work = work;
    try {
      return this.script.runInContext(this.context, { timeout }) as R;
    } finally {
      this.globals.work = undefined;
    }
  }
}

/** Made when it is needed first. */
let limited: LimitedRun | undefined;

const isTimeOut = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
