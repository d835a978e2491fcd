/**
 * What the profiles of bots and servers share: their columns, and the condition that finds them.
 */
import type { Queryable } from '../../sql/client.ts';
import type { Cacheable } from './cache.ts';
import { buildPremiumUntil } from './index-rows.ts';
import { listingKeys } from './listings.ts';

export interface LinkRow {
  readonly name: string;
  readonly value: string;
}
/** What profiles of bots, servers and teams have in common. */
export interface Profile extends Cacheable {
  readonly created_at: Date;
  readonly extra_links: readonly LinkRow[];
  readonly nsfw: boolean;
  readonly short: string;
  readonly tags: readonly string[];
  readonly updated_at: Date;
  readonly vanity_ref: string;
  readonly vote_banned: boolean;
}
export interface ListingProfile extends Profile {
  readonly invite: string;
  readonly long: string;
  readonly premium_until: Date | null;
  readonly type: string;
}
type ProfileKind = 'bot' | 'server';

/** Builds a column with the vanity code of the row called `alias`. */
export const buildVanityColumn = (sql: Queryable, alias: string) =>
  sql`(select code from vanity where itag = ${sql(alias)}.vanity_ref)`;

/** Builds the columns of `ListingProfile` from the table of `kind`. */
export const buildProfileColumns = (sql: Queryable, kind: ProfileKind) => {
  const row = sql(`${kind}s`);
  return sql`${row}.${sql(`${kind}_id`)} as id, ${buildVanityColumn(sql, `${kind}s`)} as vanity,
    2560 + 2 * length(${row}.long) + octet_length(${row}.extra_links::text) as "weightBytes",
    ${row}.created_at, ${row}.extra_links, ${row}.invite, ${row}.long, ${row}.nsfw,
    ${buildPremiumUntil(sql, `${kind}s`)} as premium_until, ${row}.short, ${row}.tags, ${row}.type,
    ${row}.updated_at, ${row}.vanity_ref, ${row}.vote_banned`;
};

/**
 * Builds the condition that a row has one of these names, as its id or as its vanity code: a name may find
 * two rows. Why the array comes from a subquery: `formatNumbers`. Planning costs several times as much as
 * running.
 */
export const buildNameCondition = (sql: Queryable, kind: ProfileKind | 'team', names: readonly string[]) =>
  sql`${sql(`${kind}s`)}.${sql(listingKeys[kind])} = any(${names as string[]}::text[] || array(
    select target_id from vanity where target_type = (select ${kind}::text) and code = any(array(
      select lower(name) from unnest((select ${names as string[]}::text[])) as names (name)))))`;
