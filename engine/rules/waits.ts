/**
 * Converts a remaining wait to the units of replies. Pure.
 */

export interface WaitParts {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

/** Converts to whole seconds, rounded up, so that a client that waits this long is not refused again. */
export const toWaitSeconds = (waitMs: number): number => Math.ceil(Math.max(0, waitMs) / 1000);

/** Splits the remaining wait into hours, minutes and seconds, rounded up to a whole second. */
export const toWaitParts = (waitMs: number): WaitParts => {
  const total = toWaitSeconds(waitMs);
  return { hours: Math.floor(total / 3600), minutes: Math.floor((total % 3600) / 60), seconds: total % 60 };
};
