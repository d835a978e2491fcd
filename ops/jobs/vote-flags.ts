/**
 * Looks for votes that look wrong, after their flush: counts in memory what this node flushes, and lets SQL
 * judge the addresses and listings that stand out (vote-counter.ts, storage/ledger/vote-flags.ts). Without
 * votes it costs nothing.
 */
import type { VoteRequest } from '../../engine/engine.ts';
import { networkAt } from '../../engine/rules/vote-origin.ts';
import {
  addVoteCount,
  judgeAddresses,
  judgeListings,
  markVotes,
  readSuspects,
} from '../../storage/ledger/vote-flags.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { NodeJob } from './job.ts';
import { createVoteCounter, type VoteCounter } from './vote-counter.ts';

const pauseMs = 10_000;
const readPauseMs = 30_000;

const judgeDue = async (sql: Sql, counts: VoteCounter, nowMs: number): Promise<void> => {
  const work = counts.take(nowMs);
  let { votes, young } = work;
  try {
    if (votes > 0) await addVoteCount(sql, { votes, young }, nowMs);
    [votes, young] = [0, 0];
    if (work.addresses.length > 0) {
      counts.remember(work, await judgeAddresses(sql, work.addresses, nowMs));
    }
    if (work.listings.length > 0) await judgeListings(sql, work.listings, nowMs);
    if (work.marks.length > 0) await markVotes(sql, work.marks);
  } catch (error) {
    counts.putBack({ ...work, votes, young });
    throw error;
  }
};

export type VoteFlags = ReturnType<typeof createVoteFlags>;

/** `readsSuspects`: whether `isSuspect` is used. It costs a statement every half minute. */
export const createVoteFlags = (sql: Sql, clock: { nowMs(): number }, readsSuspects = false) => {
  const counts = createVoteCounter(clock.nowMs());
  let recent: ReadonlySet<string> = new Set();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const run = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    await judgeDue(sql, counts, nowMs);
    if (!readsSuspects || nowMs - readAtMs < readPauseMs) return;
    recent = new Set(await readSuspects(sql, nowMs));
    readAtMs = nowMs;
  };
  const job: NodeJob = { name: 'vote_flags', everyMs: pauseMs, run };
  return {
    /** Counts votes that were flushed. */
    note: counts.note,
    /**
     * Whether something was found within a day about the account or the address of a vote, or its listing has
     * a surge; at most a minute late.
     */
    isSuspect: ({ kind, id, user, origin = '' }: VoteRequest): boolean =>
      recent.has(`user ${user}`) ||
      recent.has(`${kind} ${id}`) ||
      recent.has(`address ${origin.slice(0, networkAt)}`),
    job,
  };
};
