import type { Command } from '../command';
import { mcp } from '../mcp/command';
import { doctor } from './doctor';
import { input } from './input';
import { logs } from './logs';
import { ps } from './ps';
import { run } from './run';
import { runtimes } from './runtimes';
import { serve } from './serve';
import { session } from './session';
import { shutdown } from './shutdown';
import { start } from './start';
import { stats } from './stats';
import { stop } from './stop';
import { wait } from './wait';

/** In the order of --help. */
export const commands: readonly Command[] = [
  run,
  start,
  ps,
  logs,
  wait,
  input,
  stop,
  session,
  stats,
  runtimes,
  doctor,
  mcp,
  serve,
  shutdown,
];
