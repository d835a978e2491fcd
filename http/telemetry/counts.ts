/**
 * What the node counts and times, as plain numbers: recording costs an addition. metrics-table.ts says what
 * each number means; metrics.ts shows them. They begin at the node's start; the totals are in the stores.
 *
 * Every known label value exists from the start with 0, so that an alert sees its first event as an increase.
 */
import type { VoteOutcome } from '../../engine/engine.ts';
import type { PartsSwitch } from '../../engine/entity/items.ts';
import type { StorageReason } from '../../engine/errors.ts';
import { type EntityKind, entityKinds } from '../../engine/ids.ts';
import type { EngineMeters } from '../../engine/ports.ts';
import { createNoteBook } from '../../engine/tools/note-book.ts';

/** What became of a vote. `unproved`: no proof of a human; `failed`: a store did not answer, or refused. */
export type VoteResult =
  | Exclude<VoteOutcome, { kind: 'voted' }>['reason']
  | 'accepted'
  | 'voter_banned'
  | 'unproved'
  | 'failed';
/** Where a badge came from: the reply of the last second, the stores, the last reply however old, nowhere. */
export type BadgeSource = 'hit' | 'miss' | 'stale' | 'unavailable';
export type OutboundService = 'lookup' | 'platform' | 'login' | 'proof';
/** `rejected`: not sent, because the circuit breaker is open or too many requests are in flight. */
export type OutboundOutcome = 'success' | 'failure' | 'rejected';
export type FeedEvent = (typeof feedEvents)[number];

export const feedEvents = [
  'hello',
  'totals',
  'vote',
  'gap',
  'reset',
  'gone',
  'subscribed',
  'error',
  'pong',
  'bye',
] as const;
const continuityLosses = ['commits_lost', 'version_regressed', 'duplicate', 'gap', 'uninitialised'] as const;
const flushFailures: readonly StorageReason[] = ['unreachable', 'busy', 'full', 'row', 'damaged', 'bug'];
const voteResults: readonly VoteResult[] = [
  'accepted',
  'wait',
  'not_listed',
  'vote_banned',
  'voter_banned',
  'unproved',
  'clock_ahead',
  'clock_behind',
  'failed',
];

/** Numbers by the value of a label, all 0 at first. */
const countBy = <Value extends string>(values: readonly Value[]): Record<Value, number> =>
  Object.fromEntries(values.map((value) => [value, 0])) as Record<Value, number>;

/** Records a duration or a size in the histogram of this name. */
export type Observe = (
  name:
    | 'rollcall_batch_items'
    | 'rollcall_batch_commit_duration_seconds'
    | 'rollcall_flush_duration_seconds'
    | 'rollcall_history_sample_seconds'
    | 'rollcall_job_duration_seconds'
    | 'rollcall_outbound_request_duration_seconds',
  value: number,
  label?: string,
) => void;

/** The counts of the feed, which http/feed/ changes itself. */
export const createFeedCounts = () => ({
  /** Connections now. */
  connections: { sse: 0, websocket: 0 },
  /** Messages sent, by event. */
  frames: countBy(feedEvents) as Record<string, number>,
  /** Totals that a full socket skipped. */
  conflated: 0,
  /** Gaps sent: the client was too far behind, or SQL lacks the rows. */
  gaps: { behind: 0, missing: 0 },
  /** Connections and subscriptions refused, and connections closed because they sent too much. */
  refused: { connections: 0, address: 0, subscriptions: 0, messages: 0 },
  /** What the feed keeps in memory now, by what it is. */
  countEntries: (): Readonly<Record<string, number>> => ({}),
});
export type FeedCounts = ReturnType<typeof createFeedCounts>;

export const createCounts = (nowMs: () => number = () => performance.now()) => ({
  requests: 0,
  cutReaders: { slow: 0, address: 0, node: 0 },
  commits: { calls: 0, items: 0, milliseconds: 0 },
  flushes: { rounds: 0, milliseconds: 0 },
  commitFailures: countBy(['not_applied', 'unknown']),
  continuityLosses: countBy(continuityLosses) as Record<string, number>,
  retransmitBytes: 0,
  resends: 0,
  resendOutcomes: countBy(['applied', 'merged', 'deleted']),
  polledShards: 0,
  changedShards: 0,
  loads: 0,
  flushedRows: { entities: 0, votes: 0 },
  flushFailures: countBy(flushFailures) as Record<string, number>,
  deadLetters: 0,
  pendingItems: 0,
  actors: 0,
  backlog: { entities: 0, votes: 0, oldestAgeMs: 0 },
  staleParts: 0,
  partsSwitches: countBy<PartsSwitch>(['complete', 'time', 'idle']),
  clockAheadMs: 0,
  sqlClockAheadMs: 0,
  evictingServers: 0,
  votes: Object.fromEntries(entityKinds.map((kind) => [kind, countBy(voteResults)])) as Record<
    EntityKind,
    Record<VoteResult, number>
  >,
  badges: countBy<BadgeSource>(['hit', 'miss', 'stale', 'unavailable']),
  statsPosts: 0,
  parts: 0,
  clicks: 0,
  redeemedCents: 0,
  loggedVotes: 0,
  jobFailures: {} as Record<string, number>,
  /** What work has met that an operator has to do something about. */
  notes: createNoteBook(nowMs),
  /** Unix time in seconds, by job. */
  jobSuccesses: {} as Record<string, number>,
  pushes: countBy(['delivered', 'gone', 'retry', 'rejected', 'abandoned']),
  historyRows: countBy(['fine', 'hours', 'days']),
  historyHoles: 0,
  outbound: {
    lookup: countBy<OutboundOutcome>(['success', 'failure', 'rejected']),
    platform: countBy<OutboundOutcome>(['success', 'failure', 'rejected']),
    login: countBy<OutboundOutcome>(['success', 'failure', 'rejected']),
    proof: countBy<OutboundOutcome>(['success', 'failure', 'rejected']),
  } satisfies Record<OutboundService, unknown>,
  webhookAttempts: { delivered: 0 } as Record<string, number>,
  /** The queue of the fleet as this node last read it; every node shows the same. */
  webhooks: {
    pending: 0,
    healthy: 0,
    failing: 0,
    disabled: 0,
    /** How long the longest waiting endpoint has been due. */
    lagMs: 0,
  },
  feed: createFeedCounts(),
});
export type NodeCounts = ReturnType<typeof createCounts>;

const increase = (counts: Record<string, number>, value: string): void => {
  counts[value] = (counts[value] ?? 0) + 1;
};

type NumberName = {
  [Name in keyof NodeCounts]: NodeCounts[Name] extends number ? Name : never;
}[keyof NodeCounts];

/** Returns a function that sets the number of this name. */
export const createSetter =
  (counts: NodeCounts, name: NumberName) =>
  (value: number): void => {
    counts[name] = value;
  };

const createAdder =
  (counts: NodeCounts, name: NumberName) =>
  (value: number): void => {
    counts[name] += value;
  };

export const createEngineMeters = (counts: NodeCounts, observe: Observe): EngineMeters => ({
  recordCommit: (items, milliseconds) => {
    counts.commits.calls += 1;
    counts.commits.items += items;
    counts.commits.milliseconds += milliseconds;
    observe('rollcall_batch_items', items);
    observe('rollcall_batch_commit_duration_seconds', milliseconds / 1_000);
  },
  recordCommitFailure: (outcome) => increase(counts.commitFailures, outcome),
  recordContinuityLoss: (reason) => increase(counts.continuityLosses, reason),
  recordRetransmitBytes: createSetter(counts, 'retransmitBytes'),
  recordResends: createAdder(counts, 'resends'),
  recordResendOutcome: (outcome) => increase(counts.resendOutcomes, outcome),
  recordVersionPoll: (shards, changed) => {
    counts.polledShards += shards;
    counts.changedShards += changed;
  },
  recordLoads: createAdder(counts, 'loads'),
  recordFlush: (entities, votes, milliseconds) => {
    counts.flushes.rounds += 1;
    counts.flushes.milliseconds += milliseconds;
    observe('rollcall_flush_duration_seconds', milliseconds / 1_000);
    counts.flushedRows.entities += entities;
    counts.flushedRows.votes += votes;
  },
  recordFlushFailure: (reason) => increase(counts.flushFailures, reason),
  recordDeadLetters: createAdder(counts, 'deadLetters'),
  recordPending: createSetter(counts, 'pendingItems'),
  recordActors: createSetter(counts, 'actors'),
  recordBacklog: (size, oldestAgeMs) => {
    counts.backlog = { entities: size.entities, votes: size.votes, oldestAgeMs };
  },
  recordStaleParts: createSetter(counts, 'staleParts'),
  recordPartsSwitch: (reason) => increase(counts.partsSwitches, reason),
});

/** A run that failed is repeated within two minutes, by any node: what none repeats is over. */
const jobHoldMs = 300_000;
/** A job that fails once, as while a store starts again, needs no operator. */
const jobDelayMs = 120_000;
const pushHoldMs = 86_400_000;
const searchOff =
  '/search is 503: its index is being built, or the role of DATABASE_URL may not create the extension ' +
  'pg_trgm: run CREATE EXTENSION pg_trgm there as a superuser; the index follows within two minutes';

export const createJobMeters = (counts: NodeCounts, observe: Observe) => ({
  recordSuccess: (job: string, milliseconds: number): void => {
    observe('rollcall_job_duration_seconds', milliseconds / 1_000, job);
    counts.jobSuccesses[job] = (performance.timeOrigin + performance.now()) / 1_000;
    counts.notes.end('job_fails', job);
  },
  recordFailure: (job: string, error: Error): void => {
    increase(counts.jobFailures, job);
    const text = `the job ${job} fails: ${error.message}`;
    counts.notes.meet('job_fails', job, { text, holdMs: jobHoldMs, delayMs: jobDelayMs });
  },
  /** Shows these jobs with 0 failures. */
  declareJobs: (jobs: readonly string[]): void => {
    for (const job of jobs) counts.jobFailures[job] ??= 0;
  },
  /** Records how many votes have no number yet. */
  /** One attempt to send. `gone`: the subscription has ended. `retry`: another attempt follows. */
  recordPush: (outcome: keyof NodeCounts['pushes']): void => increase(counts.pushes, outcome),
  /** What a push service answered: `''` when it took the message, else why it never will. */
  recordPushAnswer: (host: string, refusal: string): void => {
    counts.notes.end('push_refused', host);
    if (refusal === '') return;
    const text =
      `${host} refuses push messages (${refusal}), which are abandoned: set PUSH_CONTACT to a mailto: ` +
      'or https: address that reaches you';
    counts.notes.meet('push_refused', host, { text, holdMs: pushHoldMs });
  },
  /** How many rows that SQL has refused wait for the operator. */
  recordDeadLetters: (waiting: number): void => {
    counts.notes.end('dead_letters');
    if (waiting === 0) return;
    const text =
      `${waiting} rows wait that SQL has refused: "rollcall ops dead-letters list" says why; when the ` +
      'cause is gone, "rollcall ops dead-letters retry" stores them';
    counts.notes.meet('dead_letters', '', { text, holdMs: jobHoldMs });
  },
  /** Whether the search has its index. */
  recordSearch: (isOn: boolean): void => {
    if (isOn) counts.notes.end('search_off');
    else counts.notes.meet('search_off', '', { text: searchOff, holdMs: jobHoldMs });
  },
});
export type JobMeters = ReturnType<typeof createJobMeters>;

/** What the samples of the history wrote. */
export const createHistoryMeters = (counts: NodeCounts, observe: Observe) => ({
  recordRows: (level: keyof NodeCounts['historyRows'], rows: number): void => {
    counts.historyRows[level] += rows;
  },
  recordSample: (milliseconds: number): void =>
    observe('rollcall_history_sample_seconds', milliseconds / 1_000),
  /** Samples that did not run. */
  recordHoles: createAdder(counts, 'historyHoles'),
});
export type HistoryMeters = ReturnType<typeof createHistoryMeters>;

/** Failures in a row. A service that nothing asks any more is not noted for longer than the hold. */
const failuresNoted = 3;
const serviceHoldMs = 3_600_000;
const servicesNoted: Readonly<Record<OutboundService, string>> = {
  lookup: 'to the look-up of bots failed: check BOT_LOOKUP_URL,',
  platform: 'to the fallback of the look-up of bots failed: check BOT_LOOKUP_FALLBACK_URL,',
  login: 'to the login provider failed: check LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET and its addresses,',
  proof: 'to the verifier of proofs failed: check PROOF_SECRET and PROOF_VERIFY_URL,',
};

/** Requests to other services. Cached answers are not counted. */
export const createOutboundMeters = (
  counts: NodeCounts,
  observe: Observe,
  streaks = { lookup: 0, platform: 0, login: 0, proof: 0 },
) => ({
  recordCall: (service: OutboundService, outcome: OutboundOutcome, milliseconds: number): void => {
    counts.outbound[service][outcome] += 1;
    if (outcome === 'success') streaks[service] = 0;
    if (outcome === 'success') counts.notes.end('service_fails', service);
    if (outcome === 'failure' && ++streaks[service] >= failuresNoted) {
      const text = `the last ${failuresNoted} requests ${servicesNoted[service]} or whether it is down`;
      counts.notes.meet('service_fails', service, { text, holdMs: serviceHoldMs });
    }
    if (outcome !== 'rejected')
      observe('rollcall_outbound_request_duration_seconds', milliseconds / 1_000, service);
  },
});
export type OutboundMeters = ReturnType<typeof createOutboundMeters>;

/** Longer than the longest pause between two attempts at an endpoint. */
const secretHoldMs = 7_200_000;
const secretsNoted =
  'secrets of webhooks cannot be read, so these are not delivered: give SECRETS_KEY the value that it had, ' +
  'or have the owners make new secrets';

export const createWebhookMeters = (counts: NodeCounts) => ({
  /** One attempt, by its error, `''` for a delivered one. */
  recordAttempt: (error: string): void => {
    increase(counts.webhookAttempts, error || 'delivered');
    if (error === 'secret_unreadable')
      counts.notes.meet('webhook_secrets', '', { text: secretsNoted, holdMs: secretHoldMs });
  },
  recordLevels: (levels: NodeCounts['webhooks']): void => {
    counts.webhooks = levels;
  },
});
export type WebhookMeters = ReturnType<typeof createWebhookMeters>;
