/**
 * Every fixed limit of the engine, with its unit last in the name. Settings that an operator may change are
 * in `ops/config/`; a limit here is part of the documented behaviour and changes only with the documents.
 * `assertLimits` checks the relations between them at start.
 */
import assert from 'node:assert/strict';

export const limits = {
  /** Items waiting in open batches and in flight, per process; above: 503 `overloaded`. */
  pendingItemsMax: 20_000,
  /** With up to this many waiting items, refused clicks are sent again; with more they are dropped. */
  pendingUnawaitedMax: 10_000,
  /**
   * When a commit queue with waiters sends its next call (`computeGatherMs`). A call is *crowded* if it has
   * several items or follows another call directly. If fewer than `gatherCrowdedShareMin` of the last calls
   * (an average over about `gatherCallsAverage`) were crowded, the call is sent at the end of the tick; so is
   * a call that follows no other while fewer than `gatherItemsMin` items are expected in the time of a call.
   * Otherwise calls start `gatherCallTimes` call times apart, at most `gatherMs`.
   */
  gatherMs: 5,
  gatherCallTimes: 2,
  gatherItemsMin: 1,
  gatherCrowdedShareMin: 0.1,
  gatherCallsAverage: 16,
  /**
   * From `gatherItemsPerMsMin` items per millisecond on, a call that is not sent at the end of the tick
   * gathers at least this long, because all clients of the last call send again; from `gatherItemsPerMsHigh`
   * on it gathers exactly this long.
   */
  gatherLoadMs: 1,
  gatherItemsPerMsMin: 0.5,
  gatherItemsPerMsHigh: 8,
  /** The rate of items is an average over about this time; after a pause of this length it counts as low. */
  gatherAverageMs: 20,
  /**
   * How long a call without waiters gathers, unless a caller begins to wait: the first at a rate of
   * `gatherItemsPerMsMin` or more, the second at a lower rate (then a call has at most about 50 items).
   */
  gatherUnawaitedMs: 8,
  gatherUnawaitedMsMax: 100,
  /** Items in one batch of one shard; the rest wait for the next batch. */
  batchItemsMax: 1_000,
  /** Time until a request that waits for the store is answered. */
  requestDeadlineMs: 2_000,
  /** The same for a request that also waits for an external service, such as the login provider. */
  outboundDeadlineMs: 12_000,
  /** The same for a request that waits for something to happen, for which clients may set up to 25 s. */
  longPollDeadlineMs: 27_000,
  /** How often a drain checks whether all answers are sent. */
  drainPollMs: 5,
  /** How often deadlines are checked while anything waits. */
  deadlineSweepMs: 200,
  /** Pause before a batch of unknown outcome is resent; doubles from the minimum to the maximum. */
  resendPauseMinMs: 10,
  resendPauseMaxMs: 500,
  /** A store that answers this long after a failed call counts as healthy again. */
  failurePassesMs: 500,
  /**
   * How long the retransmit buffer keeps confirmed work, counted while the store answers. The shorter time,
   * `retransmitKeepSafeMs`, applies until the pulse has seen that a crash or a failover may lose writes.
   */
  retransmitKeepMs: 15_000,
  retransmitKeepSafeMs: 5_000,
  /** Bytes in the retransmit buffer, per process; above: 503 `overloaded` until it drops old work. */
  retransmitBytesMax: 268_435_456,
  /** Pause between two queries whether the store still has that work; also before a lost item is retried. */
  retransmitPollMs: 400,
  /** Pause between two polls of the versions of shards that other nodes may have changed (I9). */
  stalenessPollMs: 400,
  /** After so many polls without a read of any entity, a node polls no more until the next one. */
  stalenessPollsUnused: 12,
  /**
   * After a stall of the process, reads wait at most `recheckMsMax` for the hot store to report what other
   * nodes changed, then use the cached states. `recheckPollMs`: pause between two polls without an answer.
   */
  recheckMsMax: 1_500,
  recheckPollMs: 20,
  /** Polls after which an actor with unflushed votes is discarded; another node's flush takes less time. */
  unflushedPollsMax: 4,
  /** Live actors; above, those not used recently are passivated. */
  actorsMax: 200_000,
  /** Requests that wait for one actor's activation. */
  activationWaitersMax: 10_000,
  /** Entities read from the hot store in one call. */
  loadBatchMax: 500,
  /** Entities being activated at once. */
  activationsMax: 10_000,
  /** Actors that the passivation clock examines per insertion. */
  passivationStepsMax: 64,
  /** Attempts to send an item or activate an entity while the store answers `absent` or `forgotten`. */
  reactivationsMax: 3,
  /** Votes of one user on one entity that wait for the outcome of the user's pending vote. */
  voteWaitersMax: 2_000,
  /** Rows of one flush transaction. */
  flushEntitiesMax: 5_000,
  flushVotesMax: 5_000,
  /** How long a read that must see past votes waits for their flush. */
  flushWaitMs: 1_000,
  /** Pause before an early flush (`flushEarly`), so that the votes of a burst share one flush. */
  flushEarlyMs: 20,
  /** Reads that may wait for a flush at the same time. */
  flushRequestsMax: 10_000,
  /** Rounds for one set of flush requests before other work continues. */
  flushRequestRoundsMax: 64,
  /** While there is nothing to flush, every n-th look also reads from the ledger what must be delivered. */
  looksPerDelivery: 6,
  /** While rounds run, the backlog is measured this often: a round may hang. */
  backlogReportMs: 1_000,
  /** Longest pause between attempts while the ledger does not answer. */
  flushBackoffMaxMs: 2_000,
  /** Votes in the outbox at which new votes are answered 503, and at which they are accepted again. */
  outboxVotesHigh: 1_000_000,
  outboxVotesLow: 800_000,
  /** The store refuses votes timed further than this ahead of its clock. */
  clockAheadMaxMs: 2_000,
  /**
   * The store refuses votes timed further than this behind its clock. No caller waits that long for an
   * answer, so only a wrong clock, or a batch whose votes were answered `unknown`, is that late.
   */
  clockBehindMaxMs: 5_000,
  /** Votes listed in one adjustment. */
  adjustmentVotersMax: 500,
  adjustmentsPerRound: 200,
  /** Plans of void votes that wait for the operator or have work to do; further ones are refused. */
  openPlansMax: 100,
  planVotesMax: 5_000_000,
  /** How long a used plan can be undone. */
  planUndoDays: 30,
  /** Recent votes that an activation sends to an emptied store in one step. */
  votersPerStep: 500,
  /** Listings whose edited facts are delivered in one round. */
  editsPerRound: 200,
  /** Length of the time buckets in which a hot store keeps last votes. */
  voteBucketMs: 12 * 3_600_000,
  /** Live idempotency keys of one caller. */
  idempotencyKeysMax: 10_000,
  shardListEntriesMax: 16_384,
  /** Shards of a bot in one post, and on one page. */
  partsPerPostMax: 1_000,
  /** Servers or users of one shard: a full table then sums up to less than 2^53. */
  partNumberMax: 2 ** 39 - 1,
  /** A bot may go back to its former shard count if nothing was posted for this long. */
  formerCountQuietMs: 60_000,
  /** Due bots that one call lists, and calls in one run of the job that judges parts. */
  dueBotsMax: 500,
  dueRoundsMax: 20,
  /** Bots whose stale parts a node counts. */
  staleBotsMax: 100_000,
  counterMax: Number.MAX_SAFE_INTEGER,
  downtimesMax: 1_024,
} as const;

/** The largest integer a stats post may carry (contract §8). */
export const statsIntegerMax = 18_446_744_073_709_552_000n;

/** Throws if limits contradict each other. */
export const assertLimits = (): void => {
  assert(limits.outboxVotesLow < limits.outboxVotesHigh);
  assert(limits.batchItemsMax <= limits.pendingItemsMax);
  assert(limits.gatherLoadMs <= limits.gatherMs && limits.gatherMs <= limits.gatherUnawaitedMs);
  assert(limits.gatherUnawaitedMs <= limits.gatherUnawaitedMsMax);
  assert(limits.deadlineSweepMs * 4 <= limits.flushWaitMs);
  assert(limits.flushWaitMs < limits.requestDeadlineMs);
  assert(limits.recheckMsMax < limits.requestDeadlineMs);
  assert(limits.clockBehindMaxMs >= 2 * limits.requestDeadlineMs);
  // A store that syncs every second can answer about two seconds late; the buffer must keep work longer.
  // The shorter time must also last for more than two looks of the pulse, one a second.
  assert(limits.retransmitKeepSafeMs >= 10 * limits.retransmitPollMs);
  assert(limits.retransmitKeepSafeMs > 2 * limits.requestDeadlineMs);
  assert(limits.retransmitKeepMs > limits.retransmitKeepSafeMs);
  // The work in flight may be added on top, at a few hundred bytes per item.
  assert(limits.pendingItemsMax * 1_024 <= limits.retransmitBytesMax);
};
