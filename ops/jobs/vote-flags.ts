/**
 * Looks for votes that look wrong, after their flush: counts in memory what this node flushes, and lets SQL
 * judge an address or a listing only when its count has doubled (storage/ledger/vote-flags.ts).
 *
 * The counts are hints: addresses may share one, and a start begins at zero. SQL has all votes. An address
 * with something to find is judged again with each of its votes. Without votes it costs nothing.
 */
import type { VoteRequest } from '../../engine/engine.ts';
import type { OutboxVote } from '../../engine/ports.ts';
import { ageAt, networkAt, packHash, unpackHash } from '../../engine/rules/vote-origin.ts';
import {
  addVoteCount,
  flagRules,
  judgeAddresses,
  judgeListings,
  readSuspects,
  youngSeconds,
} from '../../storage/ledger/vote-flags.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { NodeJob } from './job.ts';

export interface VoteFlagsOptions {
  /** `isSuspect` is asked. Costs a statement every half minute. */
  readonly readsSuspects?: boolean;
}

export interface VoteFlags {
  /** Counts votes that were flushed. */
  note(votes: readonly OutboxVote[]): void;
  /**
   * Whether something was found within a day about the account or the address of a vote, or its listing has a
   * surge; at most a minute late.
   */
  isSuspect(vote: VoteRequest): boolean;
  readonly job: NodeJob;
}

const pauseMs = 10_000;
const readPauseMs = 30_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Two bytes each. */
const addressCounts = 2 ** 20;
const listingsMax = 100_000;
/** Addresses or listings that one run judges, and that wait; more are dropped, and come again later. */
const dueMax = 200;
const waitingMax = 10_000;

/** The first count, and each double of it. */
const buildDueCounts = (first: number): ReadonlySet<number> =>
  new Set(Array.from({ length: 14 }, (_, index) => first * 2 ** index));
const dueOfAddress = buildDueCounts(flagRules.listingAccountsMin);
const dueOfListing = buildDueCounts(flagRules.surgeVotesMin + 1);

interface Counts {
  readonly addresses: Uint16Array;
  /** This hour's votes by incarnation. */
  readonly listings: Map<number, number>;
  /** Of the clock, since 1970. */
  hour: number;
  day: number;
  votes: number;
  young: number;
  /** Packed hashes, and incarnations, to judge. */
  readonly dueAddresses: Set<string>;
  readonly dueListings: Set<number>;
  /** Packed hashes of addresses with something to find today. */
  readonly suspects: Set<string>;
}

const addDue = <Key>(due: Set<Key>, key: Key): void => {
  if (due.size < waitingMax) due.add(key);
};

const noteVote = (counts: Counts, { ref, origin }: OutboxVote): void => {
  if (origin === undefined) return;
  counts.votes += 1;
  const age = origin.slice(ageAt);
  if (age !== '' && Number(age) < youngSeconds) counts.young += 1;
  const address = origin.slice(0, networkAt);
  const slot = Number(address.slice(-7)) % addressCounts;
  const ofAddress = (counts.addresses[slot] ?? 0) + 1;
  counts.addresses[slot] = ofAddress;
  if (dueOfAddress.has(ofAddress) || counts.suspects.has(address)) addDue(counts.dueAddresses, address);
  const ofListing = (counts.listings.get(ref.incarnation) ?? 0) + 1;
  counts.listings.set(ref.incarnation, ofListing);
  if (dueOfListing.has(ofListing)) addDue(counts.dueListings, ref.incarnation);
};

/** Takes the oldest out. */
const take = <Key>(due: Set<Key>): readonly Key[] => {
  const taken = [...due].slice(0, dueMax);
  for (const key of taken) due.delete(key);
  return taken;
};

const startAgain = (counts: Counts, nowMs: number): void => {
  const [hour, day] = [Math.floor(nowMs / hourMs), Math.floor(nowMs / dayMs)];
  if (counts.hour !== hour || counts.listings.size > listingsMax) counts.listings.clear();
  if (counts.day !== day) {
    counts.addresses.fill(0);
    counts.suspects.clear();
  }
  [counts.hour, counts.day] = [hour, day];
};

const judgeDue = async (sql: Sql, counts: Counts, nowMs: number): Promise<void> => {
  const addresses = take(counts.dueAddresses);
  const listings = take(counts.dueListings);
  try {
    const found = addresses.length === 0 ? [] : await judgeAddresses(sql, addresses.map(unpackHash), nowMs);
    for (const address of found) counts.suspects.add(packHash(address));
    if (listings.length > 0) await judgeListings(sql, listings, nowMs);
  } catch (error) {
    for (const address of addresses) addDue(counts.dueAddresses, address);
    for (const listing of listings) addDue(counts.dueListings, listing);
    throw error;
  }
};

export const createVoteFlags = (
  sql: Sql,
  clock: { nowMs(): number },
  options: VoteFlagsOptions = {},
): VoteFlags => {
  const counts: Counts = {
    addresses: new Uint16Array(addressCounts),
    listings: new Map(),
    ...{ hour: 0, day: 0, votes: 0, young: 0 },
    ...{ dueAddresses: new Set(), dueListings: new Set(), suspects: new Set() },
  };
  let recent: ReadonlySet<string> = new Set();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const run = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    startAgain(counts, nowMs);
    const { votes, young } = counts;
    if (votes > 0) await addVoteCount(sql, { votes, young }, nowMs);
    counts.votes -= votes;
    counts.young -= young;
    if (counts.dueAddresses.size + counts.dueListings.size > 0) await judgeDue(sql, counts, nowMs);
    if (options.readsSuspects !== true || nowMs - readAtMs < readPauseMs) return;
    recent = new Set(await readSuspects(sql, nowMs));
    readAtMs = nowMs;
  };
  return {
    note: (votes) => {
      for (const vote of votes) noteVote(counts, vote);
    },
    isSuspect: ({ kind, id, user, origin = '' }) =>
      recent.has(`user ${user}`) ||
      recent.has(`${kind} ${id}`) ||
      recent.has(`address ${origin.slice(0, networkAt)}`),
    job: { name: 'vote_flags', everyMs: pauseMs, run },
  };
};
