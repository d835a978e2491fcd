/**
 * What the operator sees of votes that look wrong: what was found (storage/ledger/vote-flags.ts), and votes
 * by hour. Read only.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
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

/** Newest first; pages count from 1. */
export const listSuspects = (
  sql: Sql,
  { kind, id }: SuspectFilter,
  page: number,
): Promise<ListPage<Suspect>> =>
  asStorage('suspects.list', () => {
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
  });

export interface VoteHour {
  readonly hour: Date;
  readonly votes: number;
  /** Of new accounts. */
  readonly young: number;
}

/** Votes with an origin of each of the last hours; hours without are left out. */
export const listVoteHours = (sql: Sql, hours: number): Promise<readonly VoteHour[]> =>
  asStorage(
    'suspects.hours',
    () => sql<VoteHour[]>`
      select hour, votes, young from vote_counts
      where hour > (select max(hour) from vote_counts) - make_interval(hours => ${hours}) order by hour`,
  );
