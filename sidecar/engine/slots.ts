import type { Slot } from '../output/slot';

const firstRetryMs = 1;
const longestRetryMs = 50;

/** Begins to pass a command's output on as it comes, as soon as the command has opened its streams. */
export function followWhenOpened(slot: Slot): () => void {
  let wait = firstRetryMs;
  let timer: NodeJS.Timeout | undefined;
  const attempt = () => {
    if (isFollowed(slot)) return;
    timer = setTimeout(attempt, wait).unref();
    wait = Math.min(wait * 2, longestRetryMs);
  };
  attempt();
  return () => clearTimeout(timer);
}

/** A read that fails now may not fail in a moment; until then what is printed waits in the FIFO. */
function isFollowed(slot: Slot): boolean {
  try {
    return slot.follow();
  } catch {
    return false;
  }
}

/** Whether nobody has the slot open any more within a moment, reading what comes meanwhile. */
export async function closesSoon(slot: Slot, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let wait = 1; ; wait = Math.min(wait * 2, 20)) {
    if (slot.drain() === 'closed') return true;
    if (performance.now() >= deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
