/**
 * The Prometheus counters of what the directory counts: votes, stats posts, clicks, redeemed credits; and of
 * badges.
 *
 * They count what this node did since its start; the totals are in the stores. A request adds 1 to a plain
 * number; labels and text are made on a scrape. Updated by http/handlers; registered by metrics.ts.
 */
import { Counter, type Registry } from 'prom-client';
import type { VoteOutcome } from '../../engine/engine.ts';
import { type EntityKind, entityKinds } from '../../engine/ids.ts';

/** What became of a vote; `failed`: a store did not answer, or refused it. */
export type VoteResult =
  | Exclude<VoteOutcome, { kind: 'voted' }>['reason']
  | 'accepted'
  | 'voter_banned'
  | 'failed';

/**
 * Where a badge came from: the reply of the last second, the stores, the last reply however old, or nowhere.
 */
const badgeSources = ['hit', 'miss', 'stale', 'unavailable'] as const;
export type BadgeSource = (typeof badgeSources)[number];

export interface DirectoryMeters {
  recordVote(kind: EntityKind, result: VoteResult): void;
  /** Counts one acknowledged stats post. */
  recordStatsPost(): void;
  /** Counts the shards of one acknowledged post of shards. */
  recordParts(parts: number): void;
  /** Counts one page view handed to the engine. */
  recordClick(): void;
  recordRedeem(cents: bigint): void;
  recordBadge(source: BadgeSource): void;
  /** Counts votes that got their number in the vote log. */
  recordLoggedVotes(votes: number): void;
}

const voteResults: readonly VoteResult[] = [
  'accepted',
  'wait',
  'not_listed',
  'vote_banned',
  'voter_banned',
  'clock_ahead',
  'clock_behind',
  'failed',
];

type VoteCounts = Record<EntityKind, Record<VoteResult, number>>;

const registerVoteCounts = (registers: Registry[]): VoteCounts => {
  const createCounts = () => Object.fromEntries(voteResults.map((result) => [result, 0]));
  const counts = Object.fromEntries(entityKinds.map((kind) => [kind, createCounts()])) as VoteCounts;
  new Counter({
    name: 'rollcall_votes_total',
    help: 'Votes by kind of entity and outcome; accepted ones are counted.',
    labelNames: ['kind', 'outcome'],
    registers,
    collect() {
      this.reset();
      for (const kind of entityKinds)
        for (const outcome of voteResults) this.inc({ kind, outcome }, counts[kind][outcome]);
    },
  });
  return counts;
};

const registerBadgeCounts = (registers: Registry[]): Record<BadgeSource, number> => {
  const counts = { hit: 0, miss: 0, stale: 0, unavailable: 0 };
  new Counter({
    name: 'rollcall_badges_total',
    help: 'Badges shown, by cache: hit (from the last second), miss, stale (a store was away), unavailable.',
    labelNames: ['cache'],
    registers,
    collect() {
      this.reset();
      for (const cache of badgeSources) this.inc({ cache }, counts[cache]);
    },
  });
  return counts;
};

export const registerDirectoryMeters = (registers: Registry[]): DirectoryMeters => {
  const votes = registerVoteCounts(registers);
  const badges = registerBadgeCounts(registers);
  const registerCount = (name: string, help: string): { count: number } => {
    const total = { count: 0 };
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(total.count);
      },
    });
    return total;
  };
  const posts = registerCount('rollcall_stats_posts_total', 'Stats posts that were acknowledged.');
  const parts = registerCount(
    'rollcall_bot_shard_parts_total',
    'Shards of bots in posts that were acknowledged.',
  );
  const clicks = registerCount('rollcall_clicks_total', 'Page views that were counted as clicks.');
  const cents = registerCount('rollcall_credits_redeemed_cents_total', 'Value of the redeemed votes, cents.');
  const logged = registerCount(
    'rollcall_votes_logged_total',
    'Votes that this node numbered in the vote log.',
  );
  return {
    recordLoggedVotes: (votes) => {
      logged.count += votes;
    },
    recordVote: (kind, result) => {
      votes[kind][result] += 1;
    },
    recordBadge: (source) => {
      badges[source] += 1;
    },
    recordStatsPost: () => {
      posts.count += 1;
    },
    recordParts: (count) => {
      parts.count += count;
    },
    recordClick: () => {
      clicks.count += 1;
    },
    recordRedeem: (value) => {
      cents.count += Number(value);
    },
  };
};
