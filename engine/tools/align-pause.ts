/**
 * Aligns the pauses of repeating tasks, so that they run at the same moments and an idle process wakes less
 * often. Pure.
 */
const secondMs = 1_000;
const halfSecondMs = 500;

/**
 * Computes the pause in whole ms, so that pauses of whole seconds end at a whole second of the monotonic
 * time, and others at a multiple of half a second: up to half of that shorter or longer than `pauseMs`. A
 * pause below a second stays as it is.
 */
export const alignPause = (pauseMs: number, monotonicMs: number): number => {
  if (pauseMs < secondMs) return pauseMs;
  const gridMs = pauseMs % secondMs === 0 ? secondMs : halfSecondMs;
  const endMs = Math.round((monotonicMs + pauseMs) / gridMs) * gridMs;
  return Math.ceil(endMs - monotonicMs);
};
