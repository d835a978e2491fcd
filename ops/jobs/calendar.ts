/**
 * When a job is due: the cron expression that wakes us, and the same rule as a function of the past.
 *
 * node-cron says when to wake, but not which instant was the last one before now; that is what a node asks
 * that starts after a silence. Everything is UTC, so no hour is missing and none comes twice. A test holds
 * the two forms of each calendar against each other. Pure.
 */

export interface Calendar {
  /** For node-cron, in UTC. */
  readonly expression: string;
  /** The newest instant at or before `nowMs` that fits the expression. */
  latestMs(nowMs: number): number;
}

const hourMs = 3_600_000;

/** The first of each month, 00:00. */
export const monthly: Calendar = {
  expression: '0 0 1 * *',
  latestMs: (nowMs) => {
    const now = new Date(nowMs);
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  },
};

/** Once an hour, away from the full hour, when everybody else's jobs run. */
export const hourly: Calendar = {
  expression: '17 * * * *',
  latestMs: (nowMs) => {
    const offsetMs = 17 * 60_000;
    return Math.floor((nowMs - offsetMs) / hourMs) * hourMs + offsetMs;
  },
};
