/**
 * Repeating work of the composition root: one run at a time, the next only after the last has ended.
 *
 * A failure is reported and the work goes on at the next turn. Never keeps the process alive.
 */

/** Runs `task` every `intervalMs` after the end of the last run. Returns a cancel function. */
export const startInterval = (
  intervalMs: number,
  task: () => Promise<unknown>,
  failed: (error: Error) => void,
): (() => void) => {
  let timer: NodeJS.Timeout;
  let cancelled = false;
  const next = (): void => {
    if (cancelled) return;
    timer = setTimeout(run, intervalMs);
    timer.unref();
  };
  const run = (): void => {
    task().then(next, (error: unknown) => {
      failed(error instanceof Error ? error : new Error(String(error)));
      next();
    });
  };
  next();
  return () => {
    cancelled = true;
    clearTimeout(timer);
  };
};
