/**
 * What the profiles of bots and servers share: their columns, and the conditions that find them.
 *
 * Used by bots.ts and servers.ts.
 */
import type { Queryable } from '../../sql/client.ts';
import type { Cacheable } from './cache.ts';
import { buildPremiumUntil } from './index-rows.ts';

export interface LinkRow {
  readonly name: string;
  readonly value: string;
}
export interface ListingProfile extends Cacheable {
  readonly created_at: Date;
  readonly extra_links: readonly LinkRow[];
  readonly invite: string;
  readonly long: string;
  readonly nsfw: boolean;
  readonly premium_until: Date | null;
  readonly short: string;
  readonly tags: readonly string[];
  readonly type: string;
  readonly updated_at: Date;
  readonly vanity_ref: string;
  readonly vote_banned: boolean;
}
type ProfileKind = 'bot' | 'server';

/** Builds the columns of `ListingProfile` from the table of `kind` and the joined `vanity`. */
export const buildProfileColumns = (sql: Queryable, kind: ProfileKind) => {
  const row = sql(`${kind}s`);
  return sql`${row}.${sql(`${kind}_id`)} as id, vanity.code as vanity,
    4096 + 2 * length(${row}.long) + octet_length(${row}.extra_links::text) as "weightBytes",
    ${row}.created_at, ${row}.extra_links, ${row}.invite, ${row}.long, ${row}.nsfw,
    ${buildPremiumUntil(sql, `${kind}s`)} as premium_until, ${row}.short, ${row}.tags, ${row}.type,
    ${row}.updated_at, ${row}.vanity_ref, ${row}.vote_banned`;
};

/** Builds the condition that a row has this id or, if no row has it, this vanity code. */
export const buildNameCondition = (sql: Queryable, kind: ProfileKind, idOrVanity: string) => {
  const [table, id] = [sql(`${kind}s`), sql(`${kind}_id`)];
  return sql`${table}.${id} = coalesce(
    (select ${id} from ${table} where ${id} = ${idOrVanity}),
    (select target_id from vanity where code = lower(${idOrVanity}) and target_type = ${kind}))`;
};

/** A condition on the rows of one kind. */
export type Condition = ReturnType<typeof buildNameCondition>;

/** Builds the condition that a row has one of these ids. */
export const buildIdCondition = (sql: Queryable, kind: ProfileKind, ids: readonly string[]): Condition =>
  sql`${sql(`${kind}s`)}.${sql(`${kind}_id`)} = any(${ids as string[]}::text[])`;
