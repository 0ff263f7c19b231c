/** Every id that package.json declares and code uses, once; a test compares the two. */
export const commandIds = {
  showSidecarLog: 'limpet.showSidecarLog',
  restartSidecar: 'limpet.restartSidecar',
} as const;

export const viewContainerId = 'limpet';

export const viewIds = {
  sessions: 'limpet.sessions',
} as const;

export const contextKeys = {
  /** The kind of the sidecar's state: decides what an empty view says. */
  sidecar: 'limpet.sidecar',
} as const;

export type CommandId = (typeof commandIds)[keyof typeof commandIds];
export type ContextKey = (typeof contextKeys)[keyof typeof contextKeys];
