/**
 * All jobs of a node, wired: what runs when, and with what.
 *
 * Not here, because nothing has to be done: the end of a premium period and of a login count from the moment
 * they come (they are compared with the time when used); lists are read again when asked for; the month's
 * partition of votes is made with the first vote of the month before; the embedded store copies itself
 * (storage/embedded/open.ts). Called by the composition root.
 */
import type { Engine } from '../../engine/engine.ts';
import type { PushClient } from '../../http/outbound/push.ts';
import type { JobMeters } from '../../http/telemetry/job-meters.ts';
import type { Catalogue } from '../../storage/catalogue/catalogue.ts';
import { purgeLogins } from '../../storage/catalogue/people/logins.ts';
import { purgeVoterOrders } from '../../storage/catalogue/votes/voter-order.ts';
import { resetVotes } from '../../storage/ledger/adjust.ts';
import { createJobRuns } from '../../storage/nodes/job-runs.ts';
import { hourly, monthly } from './calendar.ts';
import type { FleetJob, NodeJob } from './job.ts';
import { sendMessages } from './push-messages.ts';
import { checkReminders } from './reminders.ts';
import { createSchedule, type Schedule } from './schedule.ts';

export interface JobsParts {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly push: PushClient;
  readonly clock: { nowMs(): number; monotonicMs(): number };
  readonly meters: JobMeters;
  readonly node: string;
  readonly log: (words: string, details: Readonly<Record<string, string>>) => void;
}

/** A user's wait ends within a minute of a message: two looks and a slow push service fit in. */
const reminderPauseMs = 15_000;
const runsKeptDays = 400;

export const createJobs = (parts: JobsParts): Schedule => {
  const runs = createJobRuns(parts.catalogue.sql, parts.node);
  const purge: FleetJob = {
    name: 'purge',
    calendar: hourly,
    run: async ({ dueAtMs }) => {
      await purgeLogins(parts.catalogue.sql, dueAtMs);
      await purgeVoterOrders(parts.catalogue.sql);
      await runs.purge(runsKeptDays);
    },
  };
  return createSchedule({
    fleetJobs: [createMonthlyReset(parts), purge],
    nodeJobs: [createReminderJob(parts)],
    runs,
    meters: parts.meters,
    clock: parts.clock,
    failed: (job, error) => parts.log('a job failed', { job, error: error.message }),
  });
};

/** The same instant again changes nothing. The flusher tells the hot store, entity by entity. */
export const createMonthlyReset = ({ catalogue }: Pick<JobsParts, 'catalogue'>): FleetJob => ({
  name: 'monthly_reset',
  calendar: monthly,
  run: async ({ dueAtMs }) => {
    await resetVotes(catalogue.sql, { scope: 'all', atMs: dueAtMs, reason: 'monthly_reset' });
  },
});

export const createReminderJob = (parts: Omit<JobsParts, 'node'>): NodeJob => ({
  name: 'reminders',
  everyMs: reminderPauseMs,
  run: async (signal) => {
    await checkReminders({ ...parts, reminders: parts.catalogue.reminders }, signal);
    const refused = (reason: string): void => parts.log('a push message was given up', { reason });
    await sendMessages({ ...parts, outbox: parts.catalogue.push, client: parts.push, refused }, signal);
  },
});
