/**
 * Creates all jobs of a node: the monthly reset of votes, the purge of old rows, reminders, numbers of votes
 * that have none, plans of void votes, shards of bots that stopped posting, the history, and leaderboards.
 *
 * Some things need no job: a premium period and a login end when their time, which is compared at each use,
 * has passed; lists are read again on request; the first vote of a month creates the partition of the next
 * month.
 */
import type { Engine } from '../../engine/engine.ts';
import type { PushClient } from '../../http/outbound/push.ts';
import type { HistoryMeters, JobMeters } from '../../http/telemetry/counts.ts';
import type { Catalogue } from '../../storage/catalogue/catalogue.ts';
import { purgePlans } from '../../storage/catalogue/operator/void-plans.ts';
import { purgeLogins } from '../../storage/catalogue/people/logins.ts';
import { purgeNotices } from '../../storage/catalogue/shared/notices.ts';
import { purgeKeys } from '../../storage/catalogue/shared/once.ts';
import { purgeVoterOrders } from '../../storage/catalogue/votes/voter-order.ts';
import { purgeDeliveries } from '../../storage/catalogue/webhooks/upkeep.ts';
import { resetVotes } from '../../storage/ledger/adjust.ts';
import { countDeadLetters } from '../../storage/ledger/dead-letters.ts';
import { purgeOrigins } from '../../storage/ledger/partitions.ts';
import { createJobRuns } from '../../storage/nodes/job-runs.ts';
import { buildSearchIndex, hasSearch } from '../../storage/sql/search-index.ts';
import type { Webhooks } from '../services/webhooks.ts';
import { createBoardsJobs } from './boards.ts';
import { hourly, monthly } from './calendar.ts';
import { createHistoryJob, createVoteMonthsJob, type HistorySettings } from './history.ts';
import type { FleetJob, NodeJob } from './job.ts';
import { sendMessages } from './push-messages.ts';
import { checkReminders } from './reminders.ts';
import { createSchedule, type Schedule } from './schedule.ts';
import { createVoidPlansJob } from './void-plans.ts';

export interface JobsParts extends HistorySettings {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly push: PushClient;
  readonly webhooks: Pick<Webhooks, 'look' | 'keepUp' | 'refresh'>;
  readonly clock: { nowMs(): number; monotonicMs(): number };
  readonly meters: JobMeters;
  readonly historyMeters: HistoryMeters;
  readonly node: string;
  /** The longest wait for a vote, ms. */
  readonly voteWaitMsMax: number;
  readonly webhookLogDays: number;
  /** Days for which origins of votes are kept; 0 keeps none. */
  readonly voteOriginDays: number;
  /** Jobs that look for suspicious votes and page views. */
  readonly flagJobs: readonly NodeJob[];
  readonly boardSeconds: number;
  readonly log: (message: string, details: Readonly<Record<string, string>>) => void;
  /** Called with the number of votes that a step numbered. */
  readonly onLogged: (votes: number) => void;
  /** Whether votes that get their number late are sent to webhooks. */
  readonly writesDeliveries: boolean;
  /** Called after a run of a fleet job that this node completed. */
  readonly onSuccess?: (job: string, milliseconds: number) => void;
}

/** Short enough to send a reminder within a minute of the end of the wait, even by a slow push service. */
const reminderPauseMs = 15_000;
const lettersPauseMs = 30_000;
const searchPauseMs = 60_000;
/** Deliveries of this node are sent at once; this is for those of other nodes, and for repeats. */
const webhookPauseMs = 1_000;
const webhookUpkeepPauseMs = 15_000;
/** A shard is shown as stale at most this much late, and twice that when its node has just died. */
const shardsPauseMs = 15_000;
const runRetentionDays = 400;
const dayMs = 86_400_000;
/** How long records of the history job's runs are kept. */
const historyRunRetentionDays = 2;

/** Creates the schedule with all jobs; call its `start` to begin. */
export const createJobs = (parts: JobsParts): Schedule => {
  const runs = createJobRuns(parts.catalogue.sql, parts.node);
  const purge: FleetJob = {
    name: 'purge',
    calendar: hourly,
    run: async ({ dueAtMs, signal }) => {
      await purgeLogins(parts.catalogue.sql, dueAtMs);
      await purgeVoterOrders(parts.catalogue.sql);
      await purgeNotices(parts.catalogue.sql);
      await purgeKeys(parts.catalogue.sql);
      await purgePlans(parts.catalogue.sql, signal);
      await purgeDeliveries(parts.catalogue.sql, parts.webhookLogDays, signal);
      await purgeOrigins(parts.catalogue.sql, dueAtMs - parts.voteOriginDays * dayMs, signal);
      await runs.purge(runRetentionDays);
      await runs.purge(historyRunRetentionDays, 'history');
    },
  };
  const onFailure = (job: string, error: Error): void =>
    parts.log('a job failed', { job, error: error.message });
  const { clock, catalogue, meters, boardSeconds } = parts;
  const boardParts = { boards: catalogue.boards, clock, monotonicMs: clock.monotonicMs, boardSeconds };
  return createSchedule({
    fleetJobs: [createMonthlyReset(parts), purge, ...createHistoryJobs(parts)],
    nodeJobs: [
      createReminderJob(parts),
      // Marks shards of bots that stopped posting. Nodes may do it at the same time.
      { name: 'bot_shards', everyMs: shardsPauseMs, run: (signal) => parts.engine.judgeParts(signal) },
      createVoidPlansJob(parts),
      createLettersJob(parts),
      createSearchJob(parts),
      ...parts.flagJobs,
      { name: 'webhooks', everyMs: webhookPauseMs, run: parts.webhooks.look },
      { name: 'webhook_upkeep', everyMs: webhookUpkeepPauseMs, run: parts.webhooks.keepUp },
      ...createBoardsJobs({ ...boardParts, runs, meters, onFailure }),
    ],
    runs,
    meters: parts.meters,
    clock: parts.clock,
    onSuccess: parts.onSuccess,
    onFailure,
  });
};

/** Resets the votes of all entities. Repeating it changes nothing. The flusher updates the hot store. */
export const createMonthlyReset = ({ catalogue }: Pick<JobsParts, 'catalogue'>): FleetJob => ({
  name: 'monthly_reset',
  calendar: monthly,
  run: async ({ dueAtMs }) => {
    await resetVotes(catalogue.sql, { scope: 'all', atMs: dueAtMs, reason: 'monthly_reset' });
  },
});

/** Counts the dead letters that wait for an operator. */
const createLettersJob = ({ catalogue, meters }: Pick<JobsParts, 'catalogue' | 'meters'>): NodeJob => ({
  name: 'dead_letters',
  everyMs: lettersPauseMs,
  run: async () => meters.recordDeadLetters(await countDeadLetters(catalogue.sql)),
});

/** Builds the index of the search where it is missing, also once a lack of rights for it is over. */
const createSearchJob = ({ catalogue, meters }: Pick<JobsParts, 'catalogue' | 'meters'>): NodeJob => ({
  name: 'search_index',
  everyMs: searchPauseMs,
  run: async () => {
    await buildSearchIndex(catalogue.sql);
    meters.recordSearch(await hasSearch(catalogue.sql));
  },
});

/** Creates the jobs of the history; none if it is switched off. */
const createHistoryJobs = (settings: JobsParts): readonly FleetJob[] => {
  if (settings.historyFineMinutes === 0) return [];
  const { catalogue, clock, historyMeters: meters } = settings;
  const parts = { sql: catalogue.sql, settings, meters, monotonicMs: clock.monotonicMs };
  return [createHistoryJob(parts), createVoteMonthsJob(parts)];
};

/** Queues a message for each reminder that is due, then sends the queued messages. */
export const createReminderJob = (
  parts: Pick<JobsParts, 'engine' | 'catalogue' | 'push' | 'clock' | 'meters' | 'log'>,
): NodeJob => ({
  name: 'reminders',
  everyMs: reminderPauseMs,
  run: async (signal) => {
    await checkReminders({ ...parts, reminders: parts.catalogue.reminders }, signal);
    const onAbandoned = (reason: string): void => parts.log('a push message was abandoned', { reason });
    await sendMessages({ ...parts, outbox: parts.catalogue.push, client: parts.push, onAbandoned }, signal);
  },
});
