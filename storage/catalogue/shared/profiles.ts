/**
 * Bots and servers in SQL: their profiles, and what profiles have in common.
 *
 * Profiles have no counters: those come from the engine. A bot or server is listed when its type is
 * `approved` or `certified`; a server's state must be `public`, too.
 */
import type { Queryable } from '../../sql/client.ts';
import type { Cacheable } from './cache.ts';
import {
  buildPremiumColumns,
  type IndexServerRow,
  type OwnerDescription,
  type Premium,
} from './index-rows.ts';
import { listingKeys } from './listings.ts';
import { buildPersonColumn, type PersonRow } from './people.ts';

export interface LinkRow {
  readonly name: string;
  readonly value: string;
}
/** What profiles of bots, servers and teams have in common. */
export interface Profile extends Cacheable, OwnerDescription {
  readonly created_at: Date;
  readonly extra_links: readonly LinkRow[];
  readonly updated_at: Date;
  readonly vanity_ref: string;
  readonly vote_banned: boolean;
}
export interface ListingProfile extends Profile, Premium {
  readonly invite: string;
  readonly long: string;
  readonly type: string;
}
type ProfileKind = 'bot' | 'server';

/** Builds a column with the vanity code of the row called `alias`. */
export const buildVanityColumn = (sql: Queryable, alias: string) =>
  sql`(select code from vanity where itag = ${sql(alias)}.vanity_ref)`;

/** Builds the columns of `ListingProfile` from the table of `kind`. */
const buildProfileColumns = (sql: Queryable, kind: ProfileKind) => {
  const row = sql(`${kind}s`);
  return sql`${row}.${sql(`${kind}_id`)} as id, ${buildVanityColumn(sql, `${kind}s`)} as vanity,
    2560 + 2 * length(${row}.long) + octet_length(${row}.extra_links::text) as "weightBytes",
    ${row}.created_at, ${row}.extra_links, ${row}.invite, ${row}.long, ${row}.nsfw,
    ${buildPremiumColumns(sql, `${kind}s`)}, ${row}.short, ${row}.tags, ${row}.type,
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
      select lower(name collate "C") from unnest((select ${names as string[]}::text[])) as names (name)))))`;

export interface BotProfile extends ListingProfile {
  readonly approval_note: string;
  readonly captcha_opt_out: boolean;
  readonly cert_reason: string;
  readonly claimed_by: string;
  readonly client_id: string;
  readonly itag: string;
  readonly last_claimed: Date | null;
  readonly last_lookup: Date | null;
  readonly library: string;
  readonly owner_id: string | null;
  readonly owner: PersonRow | null;
  readonly person: PersonRow | null;
  readonly prefix: string;
  readonly premium_period_hours: number;
  readonly start_premium_period: Date | null;
  readonly team_id: string | null;
}

/** Finds by id or vanity code. Leaves out names that no bot has; in any order. */
export const findBots = (sql: Queryable, names: readonly string[]): Promise<readonly BotProfile[]> =>
  sql<BotProfile[]>`
    select ${buildProfileColumns(sql, 'bot')}, bots.approval_note, bots.captcha_opt_out, bots.cert_reason,
      bots.claimed_by, bots.client_id, bots.itag, bots.last_claimed, bots.last_lookup, bots.library,
      bots.owner_id, bots.prefix, bots.premium_period_hours, bots.start_premium_period, bots.team_id,
      ${buildPersonColumn(sql, 'bots.owner_id')} as owner, ${buildPersonColumn(sql, 'bots.bot_id')} as person
    from bots
    where ${buildNameCondition(sql, 'bot', names)}`;

type ServerFacts = Pick<IndexServerRow, 'avatar' | 'name' | 'online_members' | 'state' | 'total_members'>;
export interface ServerProfile extends ListingProfile, ServerFacts {
  readonly team_id: string;
}

/** Finds by id or vanity code. Leaves out names that no server has; in any order. */
export const findServers = (sql: Queryable, names: readonly string[]): Promise<readonly ServerProfile[]> =>
  sql<ServerProfile[]>`
    select ${buildProfileColumns(sql, 'server')}, servers.avatar, servers.name, servers.online_members,
      servers.state, servers.team_id, servers.total_members
    from servers
    where ${buildNameCondition(sql, 'server', names)}`;
