/**
 * Counts in memory which votes a node flushes, by address and by pair of address and listing, and finds which
 * addresses and listings SQL should judge (storage/ledger/vote-flags.ts).
 *
 * All votes of a listing go through one node at a time, so a pair that SQL would flag stands out here too:
 * the same rules, a little laxer. The counts are hints, for some million votes a day: pairs may share one, a
 * start begins at zero, and all are halved every twelve hours. SQL has all votes. Votes of a pair with flags
 * are marked one by one, and the pair is judged again as it grows.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import { ageAt, networkAt, packHash, unpackHash, voteFlags } from '../../engine/rules/vote-origin.ts';
import {
  type AddressFinding,
  flagRules,
  type MarkedVote,
  youngSeconds,
} from '../../storage/ledger/vote-flags.ts';

const hourMs = 3_600_000;
const halveMs = 12 * hourMs;
/** Counters in each array, of two bytes each. */
const slots = 2 ** 20;
const countMax = 2 ** 16 - 1;
const listingsMax = 100_000;
const pairsMax = 50_000;
/** How many addresses or listings one run judges, and how many may wait. Others are dropped for now. */
const dueMax = 200;
const waitingMax = 10_000;
/** Reduces expected numbers, because those of the whole directory may be lower than those of this node. */
const expectedShare = 0.8;
/** A pair is judged again when its votes have grown by this factor. */
const growth = { flagged: 1.25, other: 2 };
/**
 * Intervals needed to judge a rhythm, since fewer are often equal by chance. So a pair is watched this many
 * votes before the rule can apply.
 */
const rhythmGapsMin = 6;
const watchedVotesMin = flagRules.rhythmVotesMin - rhythmGapsMin;
const surgeCounts: ReadonlySet<number> = new Set(
  Array.from({ length: 14 }, (_, index) => (flagRules.surgeVotesMin + 1) * 2 ** index),
);

/** What is known about an address and a listing for which it has cast several votes. */
const createPair = (slot: number, incarnation: number) => ({
  slot,
  incarnation,
  dueAtVotes: 0,
  flags: 0,
  lastMs: 0,
  gaps: 0,
  gapSum: 0,
  gapSquares: 0,
});
type Pair = ReturnType<typeof createPair>;

interface CountedVote extends Pick<OutboxVote, 'itag' | 'atMs'> {
  /** Packed hash. */
  readonly address: string;
  readonly incarnation: number;
}
interface ListingCount {
  votes: number;
  /** Votes in the current hour. */
  hourVotes: number;
}

const createCounts = (nowMs: number) => ({
  addresses: new Uint16Array(slots),
  pairs: new Uint16Array(slots),
  youngOfPairs: new Uint16Array(slots),
  listings: new Map<number, ListingCount>(),
  watched: new Map<string, Map<number, Pair>>(),
  watchedPairs: 0,
  /** Packed hashes of the addresses whose votes are all marked. */
  wide: new Set<string>(),
  dueAddresses: new Set<string>(),
  dueListings: new Set<number>(),
  marks: [] as MarkedVote[],
  /** Packed hashes of addresses that SQL is judging now; `late` has their votes of the meantime. */
  judged: new Set<string>(),
  late: [] as CountedVote[],
  /** `all`: votes of all addresses; `since`: those since the last run. */
  all: { votes: 0, young: 0 },
  since: { votes: 0, young: 0 },
  hour: Math.floor(nowMs / hourMs),
  halved: Math.floor(nowMs / halveMs),
});
type Counts = ReturnType<typeof createCounts>;

const addTo = (counts: Uint16Array, slot: number): number => {
  const count = Math.min(countMax, (counts[slot] ?? 0) + 1);
  counts[slot] = count;
  return count;
};

const addDue = <Key>(due: Set<Key>, key: Key): void => {
  if (due.size < waitingMax) due.add(key);
};

const countListing = (counts: Counts, incarnation: number): number => {
  let listing = counts.listings.get(incarnation);
  if (listing === undefined) {
    if (counts.listings.size >= listingsMax) return 0;
    listing = { votes: 0, hourVotes: 0 };
    counts.listings.set(incarnation, listing);
  }
  listing.votes += 1;
  listing.hourVotes += 1;
  if (surgeCounts.has(listing.hourVotes)) addDue(counts.dueListings, incarnation);
  return listing.votes;
};

const watchPair = (
  counts: Counts,
  address: string,
  { slot, incarnation }: Pick<Pair, 'slot' | 'incarnation'>,
) => {
  let pairs = counts.watched.get(address);
  const known = pairs?.get(incarnation);
  if (known !== undefined || counts.watchedPairs >= pairsMax) return known;
  if (pairs === undefined) {
    pairs = new Map();
    counts.watched.set(address, pairs);
  }
  const pair = createPair(slot, incarnation);
  pairs.set(incarnation, pair);
  counts.watchedPairs += 1;
  return pair;
};

const addGap = (pair: Pair, atMs: number): void => {
  if (pair.lastMs > 0) {
    const gap = Math.abs(atMs - pair.lastMs);
    pair.gaps += 1;
    pair.gapSum += gap;
    pair.gapSquares += gap * gap;
  }
  pair.lastMs = atMs;
};

const isRegular = ({ gaps, gapSum, gapSquares }: Pair): boolean => {
  if (gaps < rhythmGapsMin) return false;
  const mean = gapSum / gaps;
  return gapSquares / gaps - mean * mean < (flagRules.rhythmVariationMax * mean) ** 2;
};

const isFarMore = (count: number, expected: number): boolean =>
  count >= 2 * expected && count > expected + 4 * Math.sqrt(expected) + 1;

interface PairCounts {
  readonly votes: number;
  readonly young: number;
  readonly ofAddress: number;
  readonly ofListing: number;
}

/** Whether SQL may find something wrong: applies its rules to the votes of this node. */
const looksWrong = ({ all }: Counts, pair: Pair, counts: PairCounts): boolean => {
  const { votes, young, ofAddress, ofListing } = counts;
  if (isRegular(pair)) return true;
  if (votes < flagRules.listingAccountsMin) return false;
  const isYoung = young >= flagRules.listingAccountsMin && 2 * young >= votes;
  if (isYoung && isFarMore(young, (expectedShare * votes * all.young) / all.votes)) return true;
  if (votes * flagRules.listingShareMin < ofAddress || 2 * expectedShare * ofAddress > all.votes)
    return false;
  const ofOthers = Math.max(0, ofListing - votes) / Math.max(1, all.votes - ofAddress);
  return isFarMore(votes, expectedShare * ofAddress * Math.min(1, ofOthers));
};

/** Marks a vote with the flags of its pair and its address. */
const addMark = (counts: Counts, { itag, atMs, address, incarnation }: CountedVote): void => {
  const ofPair = counts.watched.get(address)?.get(incarnation)?.flags ?? 0;
  const flags = ofPair | (counts.wide.has(address) ? voteFlags.directory : 0);
  if (flags === 0 || counts.marks.length >= waitingMax) return;
  counts.marks.push({ itag, atMs, address: unpackHash(address), flags });
};

/** Reads the digits of a text between two positions as a number. */
const readDigits = (text: string, from: number, to: number): number => {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + text.charCodeAt(at) - 48;
  return number;
};

const addToAll = (counts: Counts, isYoung: boolean): void => {
  counts.all.votes += 1;
  counts.since.votes += 1;
  if (!isYoung) return;
  counts.all.young += 1;
  counts.since.young += 1;
};

const noteVote = (counts: Counts, { ref: { incarnation }, itag, atMs, origin }: OutboxVote): void => {
  if (origin === undefined) return;
  const isYoung = origin.length > ageAt && readDigits(origin, ageAt, origin.length) < youngSeconds;
  addToAll(counts, isYoung);
  const number = readDigits(origin, networkAt - 7, networkAt);
  const slot = (Math.imul(number, 0x9e3779b1) ^ Math.imul(incarnation, 0x85ebca6b)) >>> 12;
  const ofAddress = addTo(counts.addresses, number % slots);
  const votes = Math.min(addTo(counts.pairs, slot), ofAddress);
  const young = isYoung ? addTo(counts.youngOfPairs, slot) : (counts.youngOfPairs[slot] ?? 0);
  const ofListing = countListing(counts, incarnation);
  if (votes < watchedVotesMin && counts.wide.size === 0 && counts.judged.size === 0) return;
  const address = origin.slice(0, networkAt);
  const vote = { itag, atMs, address, incarnation };
  addMark(counts, vote);
  if (counts.judged.has(address) && counts.late.length < waitingMax) counts.late.push(vote);
  const pair = votes >= watchedVotesMin ? watchPair(counts, address, { slot, incarnation }) : undefined;
  if (pair === undefined) return;
  addGap(pair, atMs);
  if (votes < pair.dueAtVotes) return;
  if (pair.flags === 0 && !looksWrong(counts, pair, { votes, young, ofAddress, ofListing })) return;
  pair.dueAtVotes = Math.ceil(votes * (pair.flags > 0 ? growth.flagged : growth.other));
  addDue(counts.dueAddresses, address);
};

/** Removes and returns the oldest keys, at most `dueMax`. */
const takeDue = <Key>(due: Set<Key>): readonly Key[] => {
  const taken = [...due].slice(0, dueMax);
  for (const key of taken) due.delete(key);
  return taken;
};

const halve = (counts: Counts): void => {
  for (const numbers of [counts.addresses, counts.pairs, counts.youngOfPairs]) {
    for (let slot = 0; slot < slots; slot++) numbers[slot] = (numbers[slot] ?? 0) >> 1;
  }
  counts.all.votes >>= 1;
  counts.all.young >>= 1;
  for (const [incarnation, listing] of counts.listings) {
    listing.votes >>= 1;
    if (listing.votes === 0) counts.listings.delete(incarnation);
  }
  for (const [address, pairs] of counts.watched) {
    for (const pair of pairs.values()) {
      Object.assign(pair, { dueAtVotes: pair.dueAtVotes >> 1, gaps: 0, gapSum: 0, gapSquares: 0 });
      if (2 * (counts.pairs[pair.slot] ?? 0) >= watchedVotesMin) continue;
      pairs.delete(pair.incarnation);
      counts.watchedPairs -= 1;
    }
    if (pairs.size > 0) continue;
    counts.watched.delete(address);
    counts.wide.delete(address);
  }
};

const startAgain = (counts: Counts, nowMs: number): void => {
  const [hour, halved] = [Math.floor(nowMs / hourMs), Math.floor(nowMs / halveMs)];
  if (counts.hour !== hour) for (const listing of counts.listings.values()) listing.hourVotes = 0;
  if (counts.halved !== halved) halve(counts);
  Object.assign(counts, { hour, halved });
};

const takeWork = (counts: Counts) => {
  const work = {
    /** Hashes. */
    addresses: takeDue(counts.dueAddresses).map(unpackHash),
    /** Incarnations. */
    listings: takeDue(counts.dueListings),
    marks: counts.marks,
    /** Votes since the last time, and those of new accounts. */
    ...counts.since,
  };
  counts.marks = [];
  counts.judged = new Set(work.addresses.map(packHash));
  Object.assign(counts.since, { votes: 0, young: 0 });
  return work;
};
export type DueWork = ReturnType<typeof takeWork>;

const putBackWork = (counts: Counts, work: DueWork): void => {
  for (const address of work.addresses) addDue(counts.dueAddresses, packHash(address));
  for (const listing of work.listings) addDue(counts.dueListings, listing);
  counts.marks = [...work.marks, ...counts.marks].slice(0, waitingMax);
  counts.since.votes += work.votes;
  counts.since.young += work.young;
};

const rememberFound = (counts: Counts, work: DueWork, found: readonly AddressFinding[]): void => {
  for (const hash of work.addresses) {
    const address = packHash(hash);
    counts.wide.delete(address);
    for (const pair of counts.watched.get(address)?.values() ?? []) pair.flags = 0;
  }
  for (const { address: hash, incarnation, flags } of found) {
    const address = packHash(hash);
    const pair = counts.watched.get(address)?.get(incarnation);
    if (incarnation === 0) counts.wide.add(address);
    else if (pair !== undefined) pair.flags = flags;
  }
  for (const vote of counts.late) addMark(counts, vote);
  Object.assign(counts, { judged: new Set(), late: [] });
};

export const createVoteCounter = (nowMs: number) => {
  const counts = createCounts(nowMs);
  return {
    note: (votes: readonly OutboxVote[]) => {
      for (const vote of votes) noteVote(counts, vote);
    },
    /** Takes what is due, oldest first. */
    take: (now: number) => {
      startAgain(counts, now);
      return takeWork(counts);
    },
    /** Puts it back after a failure. */
    putBack: (work: DueWork) => putBackWork(counts, work),
    /** Remembers what was found of the addresses that were judged. */
    remember: (work: DueWork, found: readonly AddressFinding[]) => rememberFound(counts, work, found),
  };
};
export type VoteCounter = ReturnType<typeof createVoteCounter>;
