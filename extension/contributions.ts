/** Every id that package.json declares and code uses, once; a test compares the two. */
export const commandIds = {
  newSession: 'limpet.newSession',
  newSessionHere: 'limpet.newSessionHere',
  runCommand: 'limpet.runCommand',
  runSelection: 'limpet.runSelection',
  runInBackground: 'limpet.runInBackground',
  stopCommand: 'limpet.stopCommand',
  killCommand: 'limpet.killCommand',
  rerunCommand: 'limpet.rerunCommand',
  sendInput: 'limpet.sendInput',
  copyCommand: 'limpet.copyCommand',
  copyOutput: 'limpet.copyOutput',
  openCommandLog: 'limpet.openCommandLog',
  showOutput: 'limpet.showOutput',
  attachTerminal: 'limpet.attachTerminal',
  renameSession: 'limpet.renameSession',
  destroySession: 'limpet.destroySession',
  destroyAllSessions: 'limpet.destroyAllSessions',
  showMore: 'limpet.showMore',
  showHistory: 'limpet.showHistory',
  clearHistory: 'limpet.clearHistory',
  showLog: 'limpet.showLog',
  restartSidecar: 'limpet.restartSidecar',
  doctor: 'limpet.doctor',
  openWalkthrough: 'limpet.openWalkthrough',
} as const;

export const viewContainerId = 'limpet';

export const viewIds = {
  sessions: 'limpet.sessions',
} as const;

/** What a click on a line of the view does; of no use anywhere else, so it is not declared. */
export const openRowCommand = 'limpet.sessions.openRow';

export const contextKeys = {
  /** The kind of the sidecar's state: decides what an empty view says. */
  sidecar: 'limpet.sidecar',
  hasSessions: 'limpet.hasSessions',
  hasRunning: 'limpet.hasRunning',
} as const;

export const terminalProfileId = 'limpet.session';
export const outputLanguageId = 'limpet-output';
export const walkthroughId = 'limpet.limpet#limpet.start';

/** Settings, without their common first part. */
export const settingsSection = 'limpet';
export const settingIds = [
  'shell',
  'profile',
  'environment',
  'commandTimeout',
  'idleTimeout',
  'keepAlive',
  'maxSessions',
  'logLevel',
  'reveal',
  'allowedCommands',
  'announceMcpServer',
] as const;

export type CommandId = (typeof commandIds)[keyof typeof commandIds];
export type ContextKey = (typeof contextKeys)[keyof typeof contextKeys];
export type SettingId = (typeof settingIds)[number];
