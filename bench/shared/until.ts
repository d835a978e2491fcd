/**
 * Polls for a condition of another process, which reports no event.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once it holds; an error counts as "not yet". Rejects after `msMax`. */
export const until = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  msMax = 60_000,
): Promise<void> => {
  const endMs = performance.now() + msMax;
  for (;;) {
    const last = await Promise.resolve()
      .then(holds)
      .catch((error: Error) => error);
    if (last === true) return;
    if (performance.now() > endMs) throw new Error(`not in time: ${what}; ${last}`);
    await sleep(20);
  }
};
