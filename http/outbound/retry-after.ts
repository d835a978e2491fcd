/**
 * Reads how long another service wants us to wait.
 */
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Parses `Retry-After`, in seconds or as a date: relative to the service's own clock, or to ours where the
 * answer has no `Date`. `undefined` when there is none; the caller bounds it.
 */
export const parseRetryAfterMs = (headers: IncomingHttpHeaders): number | undefined => {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const [untilMs, theirMs] = [Date.parse(value), Date.parse(headers.date ?? '')];
  const nowMs = Number.isNaN(theirMs) ? Date.now() : theirMs;
  return Number.isNaN(untilMs) ? undefined : Math.max(0, untilMs - nowMs);
};
