/**
 * The two forms of each calendar agree: the cron expression, and the function that computes the latest time.
 */
import { createTask } from 'node-cron';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Calendar, createMinuteCalendar, daily, hourly, monthly } from '../../../ops/jobs/calendar.ts';

const test = suite('calendars of jobs');
const minuteMs = 60_000;

/** Minutes around the ends of months, of February (also in leap years), of a year, and of summer time. */
const minutes = [
  '2026-01-01T00:00Z',
  '2026-02-28T23:59Z',
  '2026-03-01T00:00Z',
  '2026-03-29T02:00Z',
  '2026-10-25T02:00Z',
  '2026-12-31T23:59Z',
  '2028-02-29T00:17Z',
  '2028-03-01T00:00Z',
  '2100-02-28T23:17Z',
  '2100-03-01T00:00Z',
].flatMap((text) => Array.from({ length: 150 }, (_, index) => Date.parse(text) + (index - 75) * minuteMs));

const assertAgree = (calendar: Calendar): void => {
  const task = createTask(calendar.expression, () => {}, { timezone: 'UTC' });
  for (const atMs of minutes) {
    const due = calendar.latestMs(atMs) === atMs;
    assert.is(task.match(new Date(atMs)), due, new Date(atMs).toISOString());
  }
  void task.destroy();
};

test('monthly: the first of the month at midnight, by the expression and by the function', () => {
  assertAgree(monthly);
  const latest = (text: string) => new Date(monthly.latestMs(Date.parse(text))).toISOString();
  assert.is(latest('2028-02-29T23:59:59.999Z'), '2028-02-01T00:00:00.000Z');
  assert.is(latest('2028-03-01T00:00:00.000Z'), '2028-03-01T00:00:00.000Z');
  assert.is(latest('2027-01-01T00:00:00.000Z'), '2027-01-01T00:00:00.000Z');
});

test('hourly: once an hour, by the expression and by the function', () => {
  assertAgree(hourly);
  const latest = (text: string) => new Date(hourly.latestMs(Date.parse(text))).toISOString();
  assert.is(latest('2026-01-01T00:16:59.999Z'), '2025-12-31T23:17:00.000Z');
  assert.is(latest('2026-01-01T00:17:00.000Z'), '2026-01-01T00:17:00.000Z');
});

test('daily: at 00:20, by the expression and by the function', () => {
  assertAgree(daily);
  const latest = (text: string) => new Date(daily.latestMs(Date.parse(text))).toISOString();
  assert.is(latest('2028-03-01T00:19:59.999Z'), '2028-02-29T00:20:00.000Z');
});

test('each few minutes: from the full hour, by the expression and by the function', () => {
  for (const step of [1, 5, 12, 15]) assertAgree(createMinuteCalendar(step));
  const latest = (text: string) => new Date(createMinuteCalendar(5).latestMs(Date.parse(text))).toISOString();
  assert.is(latest('2026-01-01T00:04:59.999Z'), '2026-01-01T00:00:00.000Z');
  assert.is(latest('2026-01-01T00:05:00.000Z'), '2026-01-01T00:05:00.000Z');
});

test.run();
