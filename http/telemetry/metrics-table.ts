/**
 * The table of all metrics of the product: name, help text and labels of each, and the number that
 * it shows. One with buckets is a histogram; of the others those are counters whose names end with `_total`,
 * and the rest are gauges. docs/reference/metrics.md is written from it.
 */
import type { NodeCounts } from './counts.ts';

/** A number, or numbers by the values of the labels, one level for each label. */
export type Reading = number | { readonly [value: string]: Reading };

type Metric<From> = {
  readonly help: string;
  readonly labels?: readonly string[];
} & ({ readonly read: (from: From) => Reading } | { readonly buckets: readonly number[] });

/** By name. */
export type MetricTable<From> = Readonly<Record<`rollcall_${string}`, Metric<From>>>;

const sizes = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const outboundSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const jobSeconds = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300];

const engineMetrics: MetricTable<NodeCounts> = {
  rollcall_batch_items: { help: 'Items per committed batch.', buckets: sizes },
  rollcall_batch_commit_duration_seconds: {
    help: 'Time from sealing a batch to its confirmation by the hot store.',
    buckets: seconds,
  },
  rollcall_commit_failures_total: {
    help: 'Failed commits, by outcome: not_applied, or unknown.',
    labels: ['outcome'],
    read: (counts) => counts.commitFailures,
  },
  rollcall_continuity_losses_total: {
    help:
      'Times the hot store did not continue where the last confirmed batch of a shard ended, by ' +
      'reason: commits_lost, version_regressed, duplicate, gap or uninitialised.',
    labels: ['reason'],
    read: (counts) => counts.continuityLosses,
  },
  rollcall_retransmit_buffer_bytes: {
    help: 'Bytes of confirmed work kept in memory in case the hot store loses it.',
    read: (counts) => counts.retransmitBytes,
  },
  rollcall_retransmitted_items_total: {
    help: 'Confirmed items that the hot store lost and that were sent to it again.',
    read: (counts) => counts.resends,
  },
  rollcall_retransmit_results_total: {
    help:
      'What became of lost items: applied (counted again), merged into a newer vote of the same ' +
      'user, or deleted (their listing was).',
    labels: ['outcome'],
    read: (counts) => counts.resendOutcomes,
  },
  rollcall_version_poll_shards_total: {
    help: 'Shard versions compared with the hot store.',
    read: (counts) => counts.polledShards,
  },
  rollcall_version_poll_changed_shards_total: {
    help: 'Shards that other nodes had changed; this node loads what they changed at its next read.',
    read: (counts) => counts.changedShards,
  },
  rollcall_entity_loads_total: {
    help: 'Entities read from the hot store, because this node had no current state of them.',
    read: (counts) => counts.loads,
  },
  rollcall_flush_duration_seconds: { help: 'Time of one flush round to SQL.', buckets: seconds },
  rollcall_flushed_rows_total: {
    help: 'Rows flushed to SQL, by kind: entities, or votes.',
    labels: ['kind'],
    read: (counts) => counts.flushedRows,
  },
  rollcall_flush_failures_total: {
    help: 'Failed flush rounds, by reason.',
    labels: ['reason'],
    read: (counts) => counts.flushFailures,
  },
  rollcall_dead_letters_total: {
    help: 'Rows that SQL rejected and that were moved to the dead letters.',
    read: (counts) => counts.deadLetters,
  },
  rollcall_pending_items: {
    help: 'Items waiting in open batches and in flight.',
    read: (counts) => counts.pendingItems,
  },
  rollcall_actors: { help: 'Live actors.', read: (counts) => counts.actors },
  rollcall_backlog_entities: {
    help: 'Entities changed since they were last flushed.',
    read: (counts) => counts.backlog.entities,
  },
  rollcall_outbox_votes: {
    help: 'Accepted votes not yet in SQL.',
    read: (counts) => counts.backlog.votes,
  },
  rollcall_flush_lag_seconds: {
    help: 'Age of the oldest change that is not in SQL.',
    read: (counts) => counts.backlog.oldestAgeMs / 1_000,
  },
  rollcall_bot_shard_stale: {
    help:
      'Shards of bots that have not posted lately, of the bots that this node judges: add up the ' + 'nodes.',
    read: (counts) => counts.staleParts,
  },
  rollcall_bot_shard_promotions_total: {
    help:
      'Times the shards of a bot came into force for another shard count, by reason: complete, time, or ' +
      'idle (none of the shards before was live).',
    labels: ['reason'],
    read: (counts) => counts.partsSwitches,
  },
  rollcall_clock_offset_seconds: {
    help: "This node's clock minus the hot store's; 0 on the embedded store.",
    read: (counts) => counts.clockAheadMs / 1_000,
  },
  rollcall_sql_clock_offset_seconds: {
    help: "This node's clock minus that of Postgres; 0 on the embedded SQL.",
    read: (counts) => counts.sqlClockAheadMs / 1_000,
  },
  rollcall_redis_evicting_servers: {
    help: 'Redis primaries that may evict counters: set maxmemory-policy noeviction there.',
    read: (counts) => counts.evictingServers,
  },
};

const directoryMetrics: MetricTable<NodeCounts> = {
  rollcall_votes_total: {
    help:
      'Votes by kind of entity and outcome: accepted, wait, not_listed, vote_banned, voter_banned, ' +
      'unproved (no proof of a human), clock_ahead, clock_behind, or failed (a store did not ' +
      'answer).',
    labels: ['kind', 'outcome'],
    read: (counts) => counts.votes,
  },
  rollcall_badges_total: {
    help: 'Badges shown, by cache: hit (from the last second), miss, stale (a store was away), unavailable.',
    labels: ['cache'],
    read: (counts) => counts.badges,
  },
  rollcall_stats_posts_total: {
    help: 'Stats posts that were acknowledged.',
    read: (counts) => counts.statsPosts,
  },
  rollcall_bot_shard_parts_total: {
    help: 'Shards of bots in posts that were acknowledged.',
    read: (counts) => counts.parts,
  },
  rollcall_clicks_total: {
    help: 'Page views that were counted as clicks.',
    read: (counts) => counts.clicks,
  },
  rollcall_credits_redeemed_cents_total: {
    help: 'Value of the redeemed votes, cents.',
    read: (counts) => counts.redeemedCents,
  },
  rollcall_votes_logged_total: {
    help: 'Votes that this node numbered in the vote log.',
    read: (counts) => counts.loggedVotes,
  },
};

const jobMetrics: MetricTable<NodeCounts> = {
  rollcall_job_duration_seconds: {
    help: 'Duration of the successful runs of a job on this node.',
    labels: ['job'],
    buckets: jobSeconds,
  },
  rollcall_job_last_success_timestamp_seconds: {
    help: 'Unix time of the last successful run of a job on this node.',
    labels: ['job'],
    read: (counts) => counts.jobSuccesses,
  },
  rollcall_job_failures_total: {
    help: 'Failed runs of a job on this node.',
    labels: ['job'],
    read: (counts) => counts.jobFailures,
  },
  rollcall_job_failing_seconds: {
    help: 'For how long each run of a job on this node has failed; 0 after a success.',
    labels: ['job'],
    read: ({ jobFailures, notes }) => {
      const ages = notes.readAges('job_fails');
      return Object.fromEntries(Object.keys(jobFailures).map((job) => [job, (ages[job] ?? 0) / 1_000]));
    },
  },
  rollcall_push_messages_total: {
    help: 'Attempts to send a push message, by outcome: delivered, gone, retry, rejected or abandoned.',
    labels: ['outcome'],
    read: (counts) => counts.pushes,
  },
  rollcall_history_rows_total: {
    help: 'Rows of the history that this node wrote, by level: fine, hours or days.',
    labels: ['level'],
    read: (counts) => counts.historyRows,
  },
  rollcall_history_sample_seconds: {
    help:
      'Duration of the samples of all listings that this node took; above half the time between ' +
      'samples, raise HISTORY_FINE_MINUTES.',
    buckets: jobSeconds,
  },
  rollcall_history_holes_total: {
    help:
      'Samples that did not run, because no node or no SQL did; counted by the node that runs the ' +
      'next one.',
    read: (counts) => counts.historyHoles,
  },
};

const outwardMetrics: MetricTable<NodeCounts> = {
  rollcall_outbound_requests_total: {
    help:
      'Requests to external services (lookup, platform, login, proof), by outcome: success, ' +
      'failure, or rejected (not sent: it had failed repeatedly, or had too many in flight).',
    labels: ['service', 'outcome'],
    read: (counts) => counts.outbound,
  },
  rollcall_outbound_request_duration_seconds: {
    help: 'Duration of the requests that were sent, successful or not.',
    labels: ['service'],
    buckets: outboundSeconds,
  },
  rollcall_webhook_attempts_total: {
    help:
      'Attempts of this node to deliver a webhook, by outcome: delivered, status, redirect, ' +
      'timeout, address_refused, dns, tls, connection, answer_invalid, secret_unreadable, ' +
      'vote_missing or closed.',
    labels: ['outcome'],
    read: (counts) => counts.webhookAttempts,
  },
  rollcall_webhook_pending: {
    help: 'Deliveries of the fleet that wait; at 5 million no more are written for webhooks that fail.',
    read: ({ webhooks }) => webhooks.pending,
  },
  rollcall_webhook_endpoints: {
    help: 'Webhooks of the fleet, by mode: healthy, failing, or disabled.',
    labels: ['mode'],
    read: ({ webhooks: { healthy, failing, disabled } }) => ({ healthy, failing, disabled }),
  },
  rollcall_webhook_lag_seconds: {
    help: 'How long the longest waiting endpoint has been due; near 0 while senders keep up.',
    read: ({ webhooks }) => webhooks.lagMs / 1_000,
  },
  rollcall_feed_connections: {
    help: 'Connections of the feed, by kind: sse, or websocket.',
    labels: ['kind'],
    read: ({ feed }) => feed.connections,
  },
  rollcall_feed_entries: {
    help: 'What the feed keeps in memory, by what it is: all 0 soon after the last client has left.',
    labels: ['of'],
    read: ({ feed }) => feed.countEntries(),
  },
  rollcall_feed_frames_total: {
    help: 'Messages sent to clients, by event.',
    labels: ['event'],
    read: ({ feed }) => feed.frames,
  },
  rollcall_feed_gaps_total: {
    help:
      'Gaps sent instead of votes, by reason: behind (the client lacked more than 1,000), or ' +
      'missing (in SQL).',
    labels: ['reason'],
    read: ({ feed }) => feed.gaps,
  },
  rollcall_feed_refused_total: {
    help: 'Connections refused or closed, by limit: connections, address, subscriptions or messages.',
    labels: ['reason'],
    read: ({ feed }) => feed.refused,
  },
  rollcall_http_unread_closed_total: {
    help:
      'Connections closed because the client did not read, by reason: slow (less than 64 KiB in a ' +
      'minute), address (over 16 MiB waiting) or node (over 256 MiB). The log names the address.',
    labels: ['reason'],
    read: ({ cutReaders }) => cutReaders,
  },
  rollcall_feed_conflated_total: {
    help: 'Totals that were not sent to a full socket, which gets the newest ones later.',
    read: ({ feed }) => feed.conflated,
  },
};

export const countMetrics: MetricTable<NodeCounts> = {
  ...engineMetrics,
  ...directoryMetrics,
  ...jobMetrics,
  ...outwardMetrics,
};
