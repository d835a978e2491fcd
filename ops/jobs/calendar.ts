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

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Due once in each period, so many minutes after its start. */
const createCalendar = (expression: string, periodMs: number, minutes: number): Calendar => ({
  expression,
  latestMs: (nowMs) => {
    const offsetMs = minutes * minuteMs;
    return Math.floor((nowMs - offsetMs) / periodMs) * periodMs + offsetMs;
  },
});

/** Each month on the first at 00:00. */
export const monthly: Calendar = {
  expression: '0 0 1 * *',
  latestMs: (nowMs) => {
    const now = new Date(nowMs);
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  },
};

/** Each day at 00:20. */
export const daily = createCalendar('20 0 * * *', 24 * hourMs, 20);

/** Each hour at minute 17, since many other systems run their jobs at minute 0. */
export const hourly = createCalendar('17 * * * *', hourMs, 17);

/** Every `minutes` minutes from the full hour, which they divide. */
export const createMinuteCalendar = (minutes: number): Calendar =>
  createCalendar(`*/${minutes} * * * *`, minutes * minuteMs, 0);
