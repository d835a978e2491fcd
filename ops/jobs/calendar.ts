/**
 * When a job is due. All times are UTC, so no hour is missing or repeated. Pure.
 */

export interface Calendar {
  /** Returns the latest time at or before `nowMs` at which a job is due, ms: the start of a minute. */
  latestMs(nowMs: number): number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Due once in each period, so many minutes after its start. */
const createCalendar = (periodMs: number, minutes: number): Calendar => ({
  latestMs: (nowMs) => {
    const offsetMs = minutes * minuteMs;
    return Math.floor((nowMs - offsetMs) / periodMs) * periodMs + offsetMs;
  },
});

/** Each month on the first at 00:00. */
export const monthly: Calendar = {
  latestMs: (nowMs) => {
    const now = new Date(nowMs);
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  },
};

/** Each day at 00:20. */
export const daily = createCalendar(24 * hourMs, 20);

/** Each hour at minute 17, since many other systems run their jobs at minute 0. */
export const hourly = createCalendar(hourMs, 17);

/** Every `minutes` minutes from the full hour, which they divide. */
export const createMinuteCalendar = (minutes: number): Calendar => createCalendar(minutes * minuteMs, 0);
