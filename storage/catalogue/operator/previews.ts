/**
 * What an operator is shown before an operation that is hard to undo: names and counts.
 *
 * Read only. Counts are those in SQL, so they may be a flush old.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { listingTables } from '../../ledger/adjust.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { readFirst } from '../../sql/rows.ts';
import { listingKeys } from '../shared/listings.ts';
import type { VoteRow } from '../votes/votes.ts';

export interface ListingSummary {
  readonly name: string;
  /** Upvotes and downvotes. */
  readonly votes: number;
  /** Sessions that are not expired. */
  readonly tokens: number;
}
export type VoteSummary = Pick<
  VoteRow,
  'target_type' | 'target_id' | 'author' | 'upvote' | 'void' | 'created_at'
>;

const buildName = (sql: Queryable, kind: EntityKind) =>
  kind === 'bot'
    ? sql`coalesce((select username from users where users.id = listing.bot_id), listing.bot_id)`
    : sql`listing.name`;

const buildTokens = (sql: Queryable, kind: string, id: string) => sql`
  (select count(*) from sessions where target_type = ${kind} and target_id = ${id} and expiry > now())`;

const findListing = (sql: Queryable, kind: EntityKind, id: string) =>
  readFirst(sql<ListingSummary[]>`
    select ${buildName(sql, kind)} as name, upvotes + downvotes as votes,
      ${buildTokens(sql, kind, id)} as tokens
    from ${sql(listingTables[kind])} as listing join totals using (incarnation)
    where listing.${sql(listingKeys[kind])} = ${id}`);

const findUser = (sql: Queryable, id: string) =>
  readFirst(sql<{ username: string; tokens: number }[]>`
    select username, ${buildTokens(sql, 'user', id)} as tokens from users where id = ${id}`);

const findVote = (sql: Queryable, itag: string) =>
  readFirst(sql<VoteSummary[]>`
    select target_type, target_id, author, upvote, void, created_at from votes where itag = ${itag}`);

/** Counts the listings that have votes, and their votes. */
const countAllVotes = async (sql: Queryable) => {
  const [row] = await sql<{ listings: number; votes: number }[]>`
    select count(*) as listings, coalesce(sum(upvotes + downvotes), 0)::bigint as votes from totals
    where upvotes + downvotes > 0`;
  return row ?? { listings: 0, votes: 0 };
};

/** A search resolves to `null` when there is no such thing. */
export const createPreviews = (sql: Sql) =>
  bindStorage('previews', sql, { findListing, findUser, findVote, countAllVotes });
