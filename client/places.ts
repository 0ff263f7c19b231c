import os from 'node:os';
import { logPath, runtimeDirectory, stateDirectory } from '../protocol/places';

const surroundings = (env: NodeJS.ProcessEnv) => ({
  env,
  temporaryDir: os.tmpdir(),
  homeDir: os.homedir(),
  uid: process.getuid?.(),
});

/** Where the sidecar's pipe and descriptors are. */
export const runtimeDirectoryOf = (env: NodeJS.ProcessEnv) => runtimeDirectory(surroundings(env));

export const stateDirectoryOf = (env: NodeJS.ProcessEnv) => stateDirectory(surroundings(env));

export const sidecarLogPath = (env: NodeJS.ProcessEnv) => logPath(stateDirectoryOf(env));
