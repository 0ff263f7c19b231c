/** Every bound the product has by default; the sidecar reports the ones in force in runtime.describe. */
export const defaultLimits = {
  maxSessions: 256,
  maxQueuedCommands: 1000,
  maxBackgroundCommands: 200,
  maxOpenOutputs: 256,
  maxRememberedCommands: 200,
  maxCommandBytes: 8 * 1024 * 1024,
  maxMessageBytes: 64 * 1024 * 1024,
  maxMessageDepth: 32,
  maxConnections: 1024,
  maxRequestsPerConnection: 256,
  defaultOutputBytes: 2 * 1024 * 1024,
  maxOutputBytes: 128 * 1024 * 1024,
  maxLogBytesPerCommand: 1 * 1024 * 1024 * 1024,
  maxLogBytesTotal: 4 * 1024 * 1024 * 1024,
} as const;

export type Limits = { -readonly [name in keyof typeof defaultLimits]: number };

/** setTimeout wraps around above this. */
export const maxTimeoutMs = 2 ** 31 - 1;
