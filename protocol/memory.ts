type Environment = Readonly<Record<string, string | undefined>>;

/**
 * glibc keeps for itself what large buffers have taken, and more of it the longer a process runs, unless it is told to give
 * it back. A sidecar that reads megabytes now and then takes half as much so. Other libraries do not know these names.
 */
const settings = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' };
const names = new Set(Object.keys(settings));
const mark = 'LIMPET_SPARES_MEMORY';

/** The environment for a sidecar that gives memory back; whoever has settings of their own keeps them. */
export function sparingMemory(env: Environment): Environment {
  const hasOwn = Object.keys(env).some((name) => names.has(name));
  return hasOwn ? env : { ...env, ...settings, [mark]: '1' };
}

/** The same without what was added for the sidecar: commands get the environment of whoever started it. */
export function notSparingMemory(env: Environment): Environment {
  if (env[mark] !== '1') return env;
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== mark && !names.has(name)));
}
