/**
 * When a job is due: a cron expression for the next time, and a function that computes the latest past time.
 *
 * node-cron wakes a job on time, but it cannot tell the latest due time before now, which a node needs after
 * a downtime. All times are UTC, so no hour is missing or repeated. A test compares the two forms of each
 * calendar. Pure.
 */

export interface Calendar {
  /** The cron expression for node-cron, in UTC. */
  readonly expression: string;
  /** Returns the latest time at or before `nowMs` that matches the expression, ms. */
  latestMs(nowMs: number): number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Each month on the first at 00:00. */
export const monthly: Calendar = {
  expression: '0 0 1 * *',
  latestMs: (nowMs) => {
    const now = new Date(nowMs);
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  },
};

/** Each day at 00:20. */
export const daily: Calendar = {
  expression: '20 0 * * *',
  latestMs: (nowMs) => {
    const offsetMs = 20 * 60_000;
    return Math.floor((nowMs - offsetMs) / dayMs) * dayMs + offsetMs;
  },
};

/** Each hour at minute 17, since many other systems run their jobs at minute 0. */
export const hourly: Calendar = {
  expression: '17 * * * *',
  latestMs: (nowMs) => {
    const offsetMs = 17 * 60_000;
    return Math.floor((nowMs - offsetMs) / hourMs) * hourMs + offsetMs;
  },
};

/** Every `minutes` minutes from the full hour, which they divide. */
export const createMinuteCalendar = (minutes: number): Calendar => ({
  expression: `*/${minutes} * * * *`,
  latestMs: (nowMs) => Math.floor(nowMs / (minutes * 60_000)) * minutes * 60_000,
});
