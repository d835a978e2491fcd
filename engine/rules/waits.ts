/**
 * A time left to wait, in the units clients are told. Pure.
 */

export interface WaitParts {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

/** Whole seconds, rounded up: who comes back then is not refused again. */
export const toWaitSeconds = (waitMs: number): number => Math.ceil(Math.max(0, waitMs) / 1000);

export const toWaitParts = (waitMs: number): WaitParts => {
  const total = toWaitSeconds(waitMs);
  return { hours: Math.floor(total / 3600), minutes: Math.floor((total % 3600) / 60), seconds: total % 60 };
};
