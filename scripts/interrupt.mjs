const cleanups = new Set();
let watching = false;
let interrupted = false;

/** Registers what must not outlive us if we are interrupted; answers with the function that takes it back. */
export function onInterrupt(cleanup) {
  watch();
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

/** Whoever is about to start something more should not. */
export const isInterrupted = () => interrupted;

function watch() {
  if (watching) return;
  watching = true;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  // Whoever ends `npm` alone ends its shell, which tells us nothing: we only find ourselves with another parent.
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && interrupt(), 500).unref();
}

async function interrupt() {
  if (interrupted) return;
  interrupted = true;
  for (const cleanup of [...cleanups].reverse()) {
    try {
      await cleanup();
    } catch (error) {
      console.error(error.message);
    }
  }
  console.log('\nEnded.');
  process.exit(130);
}
