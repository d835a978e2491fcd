/**
 * Pauses of work that repeats, chosen so that it falls together: a process with nothing to do then wakes less
 * often. Pure.
 */
const alignedFromMs = 1_000;
const gridMs = 500;

/**
 * The pause in whole ms, so that it ends at a multiple of half a second of the monotonic time: up to a
 * quarter of a second shorter or longer than `pauseMs`. A pause below a second stays as it is.
 */
export const alignPause = (pauseMs: number, monotonicMs: number): number => {
  if (pauseMs < alignedFromMs) return pauseMs;
  const endMs = Math.round((monotonicMs + pauseMs) / gridMs) * gridMs;
  return Math.ceil(endMs - monotonicMs);
};
