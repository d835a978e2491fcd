/**
 * Every fixed limit of the engine, with its unit last. Settings that an operator may change are in
 * `ops/config.ts`; a limit here is part of the promise and changes only with the documents.
 * `assertLimits` checks their relations at start.
 */
import assert from 'node:assert/strict';

export const limits = {
  /** Items waiting in open batches and in flight, per process; above: 503 `overloaded`. */
  pendingItemsMax: 20_000,
  /**
   * How long a call gathers when at least so many items come in a millisecond; below that it goes at the end
   * of the tick.
   */
  gatherMs: 1,
  gatherItemsPerMsMin: 8,
  /** The same for a call of which nobody waits for anything. */
  gatherUnawaitedMs: 8,
  /** Items in one batch of one shard; the rest waits for the next. */
  batchItemsMax: 1_000,
  /** A request that waits for the store is answered by then. */
  requestDeadlineMs: 2_000,
  /** The same for a request that also waits for a service of the outside, such as the login provider. */
  outboundDeadlineMs: 12_000,
  /** How often a drain looks whether all answers are out. */
  drainPollMs: 5,
  /** How often passed deadlines are looked for. */
  deadlineSweepMs: 50,
  /** Pause before a batch of unknown outcome is sent again; doubles from the least to the most. */
  resendPauseMinMs: 10,
  resendPauseMaxMs: 500,
  /** A store that answers so long after it refused a call is taken for well. */
  failurePassesMs: 500,
  /** Confirmed work is kept so long where the store may lose it, counted while the store answers. */
  retransmitKeepMs: 15_000,
  /** Bytes of it, per process; above: 503 `overloaded` until some is old enough. */
  retransmitBytesMax: 268_435_456,
  /** Pause between two questions whether the store still has it; also before a lost item is tried again. */
  retransmitPollMs: 400,
  /** Pause between two looks at the versions of the shards that other nodes may have changed (I9). */
  stalenessPollMs: 400,
  /**
   * After a stall of the process: reads wait at most so long for the hot store to say what others changed,
   * then show what is known. Pause between two questions while it does not answer.
   */
  recheckMsMax: 1_500,
  doubtPollMs: 20,
  /** After so many looks an actor is loaded again that heard of no flush of its votes. A flush takes less. */
  unflushedPollsMax: 4,
  /** Live actors; the longest unused goes first. */
  actorsMax: 200_000,
  /** Requests that wait for one actor's activation. */
  activationWaitersMax: 10_000,
  /** Entities read from the hot store in one call. */
  loadBatchMax: 500,
  /** Entities being activated at once. */
  activationsMax: 10_000,
  /** Actors looked at by the passivation hand in one go. */
  passivationStepsMax: 64,
  /** Times an item is sent again after the store said `absent` or `forgotten`. */
  reactivationsMax: 3,
  /** Votes of one user on one entity that wait for the outcome of his pending one. */
  voteWaitersMax: 2_000,
  /** Rows of one flush transaction. */
  flushEntitiesMax: 5_000,
  flushVotesMax: 5_000,
  /** A read that must see past votes waits this long for its flush. */
  flushWaitMs: 1_000,
  /** Reads that wait for a flush at once. */
  flushRequestsMax: 10_000,
  /** Rounds made for one set of such reads before other work goes on. */
  flushRequestRoundsMax: 64,
  /** Longest pause between attempts while the ledger is away. */
  flushBackoffMaxMs: 2_000,
  /** Votes in the outbox above which new ones are answered 503, and below which they are taken again. */
  outboxVotesHigh: 1_000_000,
  outboxVotesLow: 800_000,
  /** Votes timed further ahead of the store's clock are refused. */
  clockAheadMaxMs: 2_000,
  /**
   * And those timed further behind it: longer than anybody waits for an answer, so only a wrong clock, or a
   * batch whose votes were answered `unknown`, is that late.
   */
  clockBehindMaxMs: 5_000,
  /** Voters named in one adjustment. */
  adjustmentVotersMax: 500,
  adjustmentsPerRound: 200,
  /** Voters that the ledger gives back to an emptied store in one step. */
  votersPerStep: 500,
  /** Listings whose edited facts are told in one round. */
  editsPerRound: 200,
  /** Visitor numbers remembered by address; twice as many at most. */
  cachedVisitorsMax: 20_000,
  /** Length of a bucket of last votes. */
  voteBucketMs: 12 * 3_600_000,
  shardListEntriesMax: 16_384,
  counterMax: Number.MAX_SAFE_INTEGER,
  downtimesMax: 1_024,
} as const;

/** The largest integer a stats post may carry (contract §8). */
export const statsIntegerMax = 18_446_744_073_709_552_000n;

/** Stops the process when limits contradict each other. */
export const assertLimits = (): void => {
  assert(limits.outboxVotesLow < limits.outboxVotesHigh);
  assert(limits.batchItemsMax <= limits.pendingItemsMax);
  assert(limits.deadlineSweepMs * 4 <= limits.flushWaitMs);
  assert(limits.flushWaitMs < limits.requestDeadlineMs);
  assert(limits.recheckMsMax < limits.requestDeadlineMs);
  assert(limits.clockBehindMaxMs >= 2 * limits.requestDeadlineMs);
  // A store that syncs every second is far behind when it answers two seconds late; many polls fit as well.
  assert(limits.retransmitKeepMs >= 10 * limits.retransmitPollMs);
  assert(limits.retransmitKeepMs > 2 * limits.requestDeadlineMs);
  // The work in flight may come on top, at a few hundred bytes an item.
  assert(limits.pendingItemsMax * 1_024 <= limits.retransmitBytesMax);
};
