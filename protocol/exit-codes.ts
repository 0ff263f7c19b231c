/** How the sidecar's process ends; numbers follow sysexits.h where it has one. */
export const exitCodes = {
  ok: 0,
  usage: 64,
  internal: 70,
  /** Another sidecar already serves this runtime directory or socket. */
  alreadyRunning: 75,
  /** A directory, socket or address cannot be used safely: foreign, writable by others, or not what it should be. */
  refused: 77,
} as const;
