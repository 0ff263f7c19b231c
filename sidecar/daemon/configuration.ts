import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { defaultLimits, type Limits } from '../../protocol/limits';
import { notSparingMemory } from '../../protocol/memory';
import { runtimeDirectory, stateDirectory } from '../../protocol/places';
import { isLoopback } from '../transports/http-address';
import { parseEnvFile } from './env-file';
import { type LogLevel, logLevels } from './log';
import { Refusal } from './refusal';

export interface HttpAddress {
  host: string;
  port: number;
}

export interface Configuration {
  stdio: boolean;
  stdin: boolean;
  socketPath: string | undefined;
  http: HttpAddress | undefined;
  token: string | undefined;
  runtimeDir: string;
  stateDir: string;
  /** How long to stay without a client; undefined is for ever. */
  keepAliveMs: number | undefined;
  handshakeMs: number;
  logLevel: LogLevel;
  limits: Limits;
  /** What shells inherit: our own configuration, and above all the token, is not in it. */
  shellEnv: NodeJS.ProcessEnv;
}

export type Request = { show: 'help' | 'version' } | { run: Configuration };

const limitNames = Object.keys(defaultLimits) as (keyof Limits)[];
const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const variable = (flag: string) => `LIMPET_${flag.replaceAll('-', '_').toUpperCase()}`;

const settings = ['socket', 'http', 'keep-alive', 'handshake', 'log-level', 'runtime-dir', 'state-dir'] as const;
const switches = ['stdio', 'stdin', 'http-allow-remote'] as const;
type Setting = (typeof settings)[number] | (typeof switches)[number];

const options = Object.fromEntries([
  ['help', { type: 'boolean', short: 'h' }],
  ['version', { type: 'boolean' }],
  ['env-file', { type: 'string' }],
  ...switches.map((name) => [name, { type: 'boolean' }]),
  ...[...settings, ...limitNames.map(dashed)].map((name) => [name, { type: 'string' }]),
]);

/** Flags first, then the environment, then the file named with --env-file. */
export function configure(args: string[], env: NodeJS.ProcessEnv): Request {
  const flags = readFlags(args);
  if (flags.help === true) return { show: 'help' };
  if (flags.version === true) return { show: 'version' };
  const file = typeof flags['env-file'] === 'string' ? readEnvFile(flags['env-file']) : {};
  const all = { ...file, ...withoutEmpty(env) };

  const text = (name: Setting | string) => {
    const flag = flags[name];
    return typeof flag === 'string' ? flag : all[variable(name)];
  };
  const isOn = (name: (typeof switches)[number]) =>
    flags[name] === true || ['1', 'true', 'yes'].includes(all[variable(name)] ?? '');
  const milliseconds = (name: Setting, otherwise: number) => wholeNumber(name, text(name)) ?? otherwise;

  const stdio = flags.stdio === true;
  const stdin = flags.stdin === true;
  if (stdio && stdin) throw Refusal.usage('--stdio and --stdin both need standard input: choose one.');
  const socketPath = text('socket');
  const httpText = text('http');
  const isDaemon = !stdio && !stdin && socketPath === undefined && httpText === undefined;
  const surroundings = { env: all, temporaryDir: os.tmpdir(), homeDir: os.homedir(), uid: process.getuid?.() };
  const keepAlive = wholeNumber('keep-alive', text('keep-alive') ?? all.LIMPET_KEEP_ALIVE_MS);

  return {
    run: {
      stdio,
      stdin,
      socketPath: socketPath === undefined ? undefined : path.resolve(socketPath),
      http: httpText === undefined ? undefined : readAddress(httpText, isOn('http-allow-remote')),
      token: all.LIMPET_TOKEN,
      runtimeDir: path.resolve(text('runtime-dir') ?? runtimeDirectory(surroundings)),
      stateDir: path.resolve(text('state-dir') ?? stateDirectory(surroundings)),
      keepAliveMs: keepAlive ?? (isDaemon ? 30 * 60_000 : undefined),
      handshakeMs: milliseconds('handshake', 60_000),
      logLevel: readLevel(text('log-level')),
      limits: readLimits(text),
      shellEnv: forShells(env),
    },
  };
}

function readFlags(args: string[]): Record<string, string | boolean | undefined> {
  try {
    const { values } = parseArgs({ args, options: options as Record<string, { type: 'string' | 'boolean' }> });
    return values as Record<string, string | boolean | undefined>;
  } catch (thrown) {
    const message = thrown instanceof Error ? (thrown.message.split('. ')[0] ?? '') : '';
    throw Refusal.usage(`${message.replace(/\.?$/, '.')}`);
  }
}

function readEnvFile(file: string): Record<string, string> {
  try {
    return parseEnvFile(fs.readFileSync(file, 'utf8'));
  } catch {
    throw Refusal.usage(`The file ${file} given with --env-file cannot be read.`);
  }
}

function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw Refusal.usage(`--${name} (or ${variable(name)}) must be a whole number, not ${JSON.stringify(text)}.`);
}

function readLevel(text: string | undefined): LogLevel {
  const level = logLevels.find((known) => known === (text ?? 'info'));
  if (level === undefined) throw Refusal.usage(`--log-level must be one of ${logLevels.join(', ')}.`);
  return level;
}

function readLimits(text: (name: string) => string | undefined): Limits {
  const limits: Limits = { ...defaultLimits };
  for (const name of limitNames) {
    const value = wholeNumber(dashed(name), text(dashed(name)));
    if (value === 0) throw Refusal.usage(`--${dashed(name)} must be at least 1.`);
    if (value !== undefined) limits[name] = value;
  }
  return limits;
}

function readAddress(text: string, allowRemote: boolean): HttpAddress {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    throw Refusal.usage(`--http takes HOST:PORT, for example 127.0.0.1:7420, not ${JSON.stringify(text)}.`);
  }
  if (!isLoopback(host) && !allowRemote) {
    throw Refusal.usage(`${host} can be reached from other machines. Use 127.0.0.1, or add --http-allow-remote.`);
  }
  return { host, port: Number(port) };
}

/** Directories stay, so that `limpet` inside a session finds the same sidecar; all other settings end here. */
function forShells(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(notSparingMemory(env)).filter(
    ([name]) =>
      name === 'LIMPET_RUNTIME_DIR' ||
      name === 'LIMPET_STATE_DIR' ||
      !(name.startsWith('LIMPET_') || name === 'ELECTRON_RUN_AS_NODE'),
  );
  return Object.fromEntries(kept);
}
