/** Where sidecar and clients meet. Pure, so that both sides agree without sharing platform code. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  /** The system's temporary folder. */
  temporaryDir: string;
  homeDir: string;
  /** undefined where users have no number. */
  uid: number | undefined;
}

/** An empty variable counts as unset, as the XDG rules ask. */
const given = (value: string | undefined) => (value === undefined || value === '' ? undefined : value);

export function runtimeDirectory({ env, temporaryDir, uid }: Surroundings): string {
  const chosen = given(env.LIMPET_RUNTIME_DIR);
  if (chosen !== undefined) return chosen;
  const xdg = given(env.XDG_RUNTIME_DIR);
  if (xdg !== undefined) return `${xdg}/limpet`;
  return `${temporaryDir}/limpet-${uid ?? 'user'}`;
}

export function stateDirectory({ env, homeDir }: Surroundings): string {
  const chosen = given(env.LIMPET_STATE_DIR);
  if (chosen !== undefined) return chosen;
  const xdg = given(env.XDG_STATE_HOME);
  return xdg !== undefined ? `${xdg}/limpet` : `${homeDir}/.local/state/limpet`;
}

export const pipePath = (runtimeDir: string) => `${runtimeDir}/sidecar.sock`;
export const logPath = (stateDir: string) => `${stateDir}/sidecar.log`;
export const descriptorPath = (runtimeDir: string, pid: number) => `${runtimeDir}/sidecar-${pid}.json`;
export const isDescriptorName = (name: string) => /^sidecar-\d+\.json$/.test(name);
