/**
 * The presence a bot is shown with (docs/behaviour/counting.md). Pure.
 */
import type { PresenceStatus } from '../entity/state.ts';

/** Without a posted status, a bot with stats this recent is `online`. */
export const presenceFreshMs = 24 * 3_600_000;

/** Returns the last posted status; without one, `online` if stats came within a day, else `offline`. */
export const computePresence = (
  posted: { readonly status: PresenceStatus | ''; readonly lastStatsPostMs: number },
  nowMs: number,
): PresenceStatus => {
  if (posted.status !== '') return posted.status;
  return posted.lastStatsPostMs > 0 && nowMs - posted.lastStatsPostMs <= presenceFreshMs
    ? 'online'
    : 'offline';
};
