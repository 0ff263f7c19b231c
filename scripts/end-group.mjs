import { once } from 'node:events';

/** Ends a process that leads a group, and all others in it: asks first, and asks no more after a while. */
export async function endGroup(child, signals = ['SIGTERM', 'SIGKILL'], graceMs = 5000) {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const ended = hasEnded() ? Promise.resolve() : once(child, 'exit');
  for (const signal of signals) {
    signalGroup(child.pid, signal);
    const inVain = new Promise((resolve) => setTimeout(resolve, graceMs).unref());
    await Promise.race([ended, inVain]);
    if (hasEnded()) break;
  }
  // What is left of the group lost its leader and would stay.
  signalGroup(child.pid, 'SIGKILL');
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}
