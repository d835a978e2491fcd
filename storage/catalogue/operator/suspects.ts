/**
 * What the operator sees of votes that look wrong: what was found (storage/ledger/vote-flags.ts), and votes
 * by hour. Read only.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { flagRules } from '../../ledger/vote-flags.ts';
import type { Sql } from '../../sql/client.ts';
import { type ListPage, readPage } from './pages.ts';

export interface SuspectFilter {
  readonly kind?: EntityKind | undefined;
  readonly id?: string | undefined;
}

export interface Suspect {
  /** One of `voteFlags`. */
  readonly flag: number;
  /** `null` for several listings, or one that is deleted. */
  readonly target_type: EntityKind | null;
  readonly target_id: string | null;
  /** `null` for several addresses. */
  readonly address_hash: string | null;
  readonly first_at: Date;
  readonly last_at: Date;
  readonly figures: Readonly<Record<string, number>>;
}

/** Lists the findings, newest first; pages count from 1. */
export const listSuspects = (
  sql: Sql,
  { kind, id }: SuspectFilter,
  page: number,
): Promise<ListPage<Suspect>> => {
  const where =
    kind === undefined || id === undefined
      ? undefined
      : sql`where incarnation = (
          select incarnation from totals where kind = ${kind} and entity_id = ${id})`;
  const select = sql`
    select suspect.kind as flag, totals.kind as target_type, entity_id as target_id,
      nullif(address_hash, 0)::text as address_hash, first_at, last_at, figures
    from (select * from vote_suspects ${where ?? sql``}) as suspect left join totals using (incarnation)
    order by last_at desc, suspect.kind, address_hash`;
  return readPage<Suspect>(sql, { select, table: 'vote_suspects', where }, page);
};

export interface VoteHour {
  readonly hour: Date;
  readonly votes: number;
  /** Of new accounts; `null` of one listing. */
  readonly young: number | null;
  /** More votes in an hour are a surge; `null` of all listings. */
  readonly surge_above: number | null;
}

/** Counts the votes with an origin in each of the last hours; hours without votes are left out. */
export const listVoteHours = (sql: Sql, hours: number): Promise<readonly VoteHour[]> =>
  sql<VoteHour[]>`
    select hour, votes, young, null as surge_above from vote_counts
    where hour > (select max(hour) from vote_counts) - make_interval(hours => ${hours}) order by hour`;

export type ListingOfHours = Required<{ [Key in keyof SuspectFilter]: NonNullable<SuspectFilter[Key]> }>;
export interface HourSpan {
  readonly hours: number;
  /** In the last of them. */
  readonly atMs: number;
}

const hourMs = 3_600_000;
const pastHours = flagRules.pastDays * 24;

/**
 * Votes of one listing in each of the last hours, void ones too, and what would have been a surge by the days
 * before that hour (storage/ledger/vote-flags.ts); empty without votes.
 */
export const listListingHours = (
  sql: Sql,
  { kind, id }: ListingOfHours,
  { hours, atMs }: HourSpan,
): Promise<readonly VoteHour[]> => {
  const lastMs = Math.floor(atMs / hourMs) * hourMs;
  const [first, last] = [new Date(lastMs - (hours + pastHours - 1) * hourMs), new Date(lastMs)];
  return sql<VoteHour[]>`
    with counted as (
      select date_trunc('hour', created_at, 'UTC') as hour, count(*) as votes
      from votes join totals using (incarnation)
      where target_type = ${kind} and target_id = ${id} and kind = ${kind} and entity_id = ${id}
        and created_at >= ${first}
      group by 1
    ), series as (
      select hour, coalesce(votes, 0) as votes, coalesce(sum(votes) over (
        order by hour rows between ${pastHours} preceding and 1 preceding), 0) as past
      from generate_series(${first}::timestamptz, ${last}, interval '1 hour') as hour
      left join counted using (hour)
    )
    select hour, votes, null as young, greatest(${flagRules.surgeVotesMin},
      ceil(${flagRules.surgeFactor} * past / ${pastHours}::float8))::int as surge_above
    from series where hour > ${new Date(lastMs - hours * hourMs)} and exists (select from counted)
    order by hour`;
};
