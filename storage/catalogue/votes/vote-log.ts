/**
 * Reads the vote log: the accepted votes of one listing by number.
 *
 * A number means something within one listing, one directory and one timeline of its SQL
 * (storage/ledger/generations.ts), so readers get all three with it, as the log's epoch. A restored older
 * SQL, an id that is listed again, or an export that was imported elsewhere, is another epoch. Numbers are
 * given by storage/ledger.
 */
import type { EntityRef } from '../../../engine/ids.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';
import { buildRows, formatNumbers, type Queryable, type Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { buildFigures, type VoterFigures } from './voters.ts';
import type { VoteRow } from './votes.ts';

export interface LogRow
  extends Pick<VoteRow, 'itag' | 'author' | 'upvote' | 'created_at' | 'void' | 'void_reason'> {
  readonly number: number;
  /** `''` for none. */
  readonly ref: string;
  /** What its author had done so far, this vote included; only on request. */
  readonly voter?: VoterFigures;
}

/** The state of a listing's log. */
export interface LogHead {
  /** Differs for logs whose numbers must not be compared. */
  readonly epoch: string;
  /** The newest number; 0 before the first vote. */
  readonly number: number;
}

/** What the epochs of all logs of a directory begin with. */
export interface LogTimeline {
  readonly origin: string;
  readonly timeline: number;
}

/** Formats the epoch of a listing's log. */
export const formatEpoch = ({ origin, timeline }: LogTimeline, incarnation: number): string =>
  `${origin}${timeline.toString(36)}-${incarnation.toString(36)}`;

/** Reads the heads of several logs at one moment, by incarnation. Deleted listings are missing. */
const readLogHeads = async (
  sql: Queryable,
  incarnations: readonly number[],
): Promise<ReadonlyMap<number, LogHead>> => {
  const rows = await sql<(LogTimeline & { incarnation: number; number: number })[]>`
    select incarnation, votes_logged as number, origin, revisions as timeline from totals, lineage
    where incarnation = any(${formatNumbers(incarnations)}::bigint[])`;
  return new Map(
    rows.map((row) => [row.incarnation, { epoch: formatEpoch(row, row.incarnation), number: row.number }]),
  );
};

/**
 * Reads at most `limit` votes of each log above its number `after`, in ascending order per log; with
 * `hasVoter` each with what its author had done so far.
 */
const readEachLog = (
  sql: Queryable,
  positions: readonly { readonly incarnation: number; readonly after: number }[],
  { limit, hasVoter }: { readonly limit: number; readonly hasVoter: boolean },
): Promise<readonly (LogRow & { readonly incarnation: number })[]> =>
  sql<(LogRow & { incarnation: number })[]>`
    select wanted.incarnation, rows.*
      ${hasVoter ? sql`, ${buildFigures(sql)} as voter` : sql``}
    from ${buildRows(sql, positions, { incarnation: 'bigint', after: 'bigint' })}
      as wanted (incarnation, after) cross join lateral (
      select log_number as number, itag, author, upvote, created_at, void, void_reason,
        coalesce(ref, '') as ref
      from vote_log where vote_log.incarnation = wanted.incarnation and log_number > wanted.after
      order by log_number limit ${limit}
    ) as rows ${hasVoter ? joinVoter(sql) : sql``}
    order by wanted.incarnation, rows.number`;

/** Votes are numbered almost in the order of their times: the nodes' clocks differ little. */
const nearMax = 1_000;

/** Finds the number before the first vote since a time; that of the newest vote if there is none. */
const findNumberBefore = async (sql: Queryable, ref: EntityRef, since: Date): Promise<number> => {
  const [row] = await sql<{ number: number }[]>`
    select coalesce(
      (select min(log_number) - 1 from (
        select log_number from votes
        where target_type = ${ref.kind} and target_id = ${ref.id} and created_at >= ${since}
          and incarnation = ${ref.incarnation}
        order by created_at limit ${nearMax}
      ) as near),
      (select votes_logged from totals where incarnation = ${ref.incarnation}), 0) as number`;
  return row?.number ?? 0;
};

/** Builds the join of what the author of each row had done so far. */
const joinVoter = (sql: Queryable) => sql`
  join totals using (incarnation) cross join lateral summarise_voter(
    totals.incarnation, totals.kind, totals.entity_id, rows.author, rows.number, rows.created_at) as voter`;

/** One page of one log. */
export interface LogPage {
  readonly ref: EntityRef;
  readonly after: number;
  readonly limit: number;
  /** Whether each vote comes with what its author had done so far. */
  readonly hasVoter?: boolean;
}

/** Longer pages are read one by one. */
const sharedRowsMax = 100;

/**
 * Reads several pages: clients that waited for the same votes all read at once. Those of one log share the
 * rows after the lowest number; what these do not reach is read alone.
 */
const readLogPages = async (
  sql: Queryable,
  pages: readonly LogPage[],
): Promise<readonly (readonly LogRow[])[]> => {
  const lowest = new Map<number, number>();
  for (const { ref, after, limit, hasVoter } of pages) {
    if (limit > sharedRowsMax || hasVoter) continue;
    lowest.set(ref.incarnation, Math.min(after, lowest.get(ref.incarnation) ?? after));
  }
  const positions = Array.from(lowest, ([incarnation, after]) => ({ incarnation, after }));
  const shared =
    positions.length === 0
      ? []
      : await readEachLog(sql, positions, { limit: sharedRowsMax, hasVoter: false });
  const byIncarnation = Map.groupBy(shared, ({ incarnation }) => incarnation);
  return Promise.all(
    pages.map(({ ref, after, limit, hasVoter = false }) => {
      const known = hasVoter ? [] : (byIncarnation.get(ref.incarnation) ?? []);
      const rows = known.filter(({ number }) => number > after).slice(0, limit);
      const isWhole = rows.length === limit || known.length < sharedRowsMax;
      if (limit <= sharedRowsMax && isWhole && !hasVoter) return rows;
      return readEachLog(sql, [{ incarnation: ref.incarnation, after }], { limit, hasVoter });
    }),
  );
};

/** Requests of the vote log that arrive while two statements run share the next one. */
const logsPerLookUp = 1_000;
const pagesPerRead = 50;

export const createVoteLog = (sql: Sql) => ({
  /** Votes above `after`, in ascending order. */
  page: createBatchLoader({
    loadMany: (pages: readonly LogPage[]) => asStorage('votes.log', () => readLogPages(sql, pages)),
    keysMax: pagesPerRead,
  }),
  /** The head of one log; `null` if the listing was deleted. */
  head: createBatchLoader({
    loadMany: async (incarnations: readonly number[]): Promise<readonly (LogHead | null)[]> => {
      const heads = await asStorage('votes.logHead', () => readLogHeads(sql, [...new Set(incarnations)]));
      return incarnations.map((incarnation) => heads.get(incarnation) ?? null);
    },
    keysMax: logsPerLookUp,
  }),
  ...bindStorage('voteLog', sql, {
    heads: readLogHeads,
    each: readEachLog,
    findBefore: findNumberBefore,
  }),
});
