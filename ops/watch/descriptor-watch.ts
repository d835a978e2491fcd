/**
 * Watches whether this process has file descriptors left, says so when it has none, and rests meanwhile.
 *
 * A connection that cannot be accepted wakes the event loop again and again, which costs up to a core. So
 * while descriptors are used up, every turn of the loop ends with a pause of a few ms: connected clients are
 * served, a little later.
 */
import { canOpenFiles, descriptorAdvice } from '../../storage/embedded/descriptors.ts';
import type { NodeWatch } from './watch.ts';

const restMs = 5;
/** With one free for this long, connections do not wait any more. */
const holdsMs = 10_000;

/** One note while descriptors are used up. */
export const createDescriptorWatch = (): NodeWatch => {
  let usedUp = false;
  let lackedMs = Number.NEGATIVE_INFINITY;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const rest = (): void => {
    if (!usedUp) return;
    Atomics.wait(sleeper, 0, 0, restMs);
    setImmediate(rest).unref();
  };
  const check = async (): Promise<void> => {
    const nowMs = performance.now();
    if (!canOpenFiles(1)) lackedMs = nowMs;
    if (nowMs - lackedMs < holdsMs === usedUp) return;
    usedUp = !usedUp;
    rest();
  };
  return {
    everyMs: 1_000,
    check,
    listNotes: () => (usedUp ? [`descriptors_used_up: ${descriptorAdvice}`] : []),
  };
};
