import type { Logger } from 'pino';
import { RotatingFile } from './rotating-file';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
type Written = Exclude<LogLevel, 'silent'>;

/** The sidecar's structured log. It never gets command texts, environment values or tokens. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  fatal(fields: object, message: string): void;
  /** Writes out what is buffered, synchronously. */
  flush(): void;
}

/** Keeps the first lines until pino is loaded, which would otherwise delay the first answer. */
export function openLog(path: string, level: LogLevel): Log {
  const file = new RotatingFile(path);
  let logger: Logger | undefined;
  let early: { level: Written; fields: object; message: string }[] = [];

  const load = () => {
    if (logger !== undefined) return;
    const { pino } = require('pino') as typeof import('pino');
    const made = pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, file);
    for (const { level, fields, message } of early) made[level](fields, message);
    early = [];
    logger = made;
  };
  const loading = setTimeout(load, 200);
  loading.unref();

  const write = (level: Written) => (fields: object, message: string) => {
    if (logger === undefined) early.push({ level, fields, message });
    else logger[level](fields, message);
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
    flush: () => {
      clearTimeout(loading);
      load();
      file.flush();
    },
  };
}
