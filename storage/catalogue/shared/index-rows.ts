/**
 * Short rows of bots and servers with their totals as last flushed, for all lists.
 *
 * A list is first a small query that finds ids in order (`wanted`: columns `id`, `place`), then one statement
 * of this file that adds the other columns: no query per row. Values that may exceed 2^53 are decimal
 * strings.
 */
import type { PresenceStatus } from '../../../engine/entity/state.ts';
import type { Fragment, Queryable } from '../../sql/client.ts';
import { buildPersonColumn, type PersonRow } from './people.ts';

/** What owners describe a bot, a server or a team with. */
export interface OwnerDescription {
  readonly nsfw: boolean;
  readonly short: string;
  readonly tags: readonly string[];
}
export interface ListingDescription extends OwnerDescription {
  readonly invite: string;
  readonly long: string;
}
/** The last premium period: it has begun, or will; both are null without one. */
export interface Premium {
  readonly premium_from: Date | null;
  readonly premium_until: Date | null;
}
/** What short rows of bots and servers have in common. */
export interface IndexRow extends OwnerDescription, Premium {
  readonly type: string;
  readonly vanity: string;
  readonly vanity_ref: string;
  readonly clicks: number;
  readonly invite_clicks: number;
  readonly votes: number;
  /** As `wanted` has it. */
  readonly place: number;
}

export interface IndexBotRow extends IndexRow {
  readonly bot_id: string;
  readonly created_at: Date;
  readonly library: string;
  readonly person: PersonRow | null;
  readonly servers: string;
  readonly shards: string;
  readonly status: PresenceStatus | '';
  readonly last_stats_post_ms: number;
}

export interface IndexServerRow extends IndexRow {
  readonly server_id: string;
  readonly avatar: string;
  readonly name: string;
  readonly online_members: number;
  readonly state: string;
  readonly total_members: number;
}

/** Builds the end of the premium period of the row called `alias`; null without a start. */
export const buildPremiumUntil = (sql: Queryable, alias: string) => sql`
  ${sql(alias)}.start_premium_period + make_interval(hours => ${sql(alias)}.premium_period_hours)`;

/** Builds the columns of `Premium`. */
export const buildPremiumColumns = (sql: Queryable, alias: string) => sql`
  ${sql(alias)}.start_premium_period as premium_from, ${buildPremiumUntil(sql, alias)} as premium_until`;

/**
 * Makes `wanted` of a list of ids, in the order given. Why the array comes from a subquery: `formatNumbers`.
 */
export const buildIdList = (sql: Queryable, ids: readonly string[]): Fragment => sql`
  select id, place from unnest((select ${ids as string[]}::text[])) with ordinality as listed(id, place)`;

/** The types of bots and servers that the public sees. */
export const listedTypes: readonly string[] = ['approved', 'certified'];

/** Reads the bots of `wanted` that still exist, in its order. `key` is the column that `wanted.id` has. */
export const selectIndexBots = (
  sql: Queryable,
  wanted: Fragment,
  key: 'bot_id' | 'incarnation' = 'bot_id',
) => sql<IndexBotRow[]>`
  select bots.bot_id, bots.created_at, bots.library, bots.nsfw, bots.short, bots.tags, bots.type,
    vanity.code as vanity, bots.vanity_ref, ${buildPremiumColumns(sql, 'bots')},
    ${buildPersonColumn(sql, 'bots.bot_id')} as person, totals.clicks, totals.invite_clicks, totals.votes,
    totals.servers, totals.shards, totals.status, totals.last_stats_post_ms, wanted.place
  from (${wanted}) as wanted
  join bots on bots.${sql(key)} = wanted.id
  join totals on totals.incarnation = bots.incarnation
  join vanity on vanity.itag = bots.vanity_ref
  order by wanted.place`;

/** As `selectIndexBots`, of servers. */
export const selectIndexServers = (
  sql: Queryable,
  wanted: Fragment,
  key: 'server_id' | 'incarnation' = 'server_id',
) => sql<IndexServerRow[]>`
  select servers.server_id, servers.avatar, servers.name, servers.nsfw, servers.online_members, servers.short,
    servers.state, servers.tags, servers.total_members, servers.type, vanity.code as vanity,
    servers.vanity_ref, ${buildPremiumColumns(sql, 'servers')},
    totals.clicks, totals.invite_clicks, totals.votes, wanted.place
  from (${wanted}) as wanted
  join servers on servers.${sql(key)} = wanted.id
  join totals on totals.incarnation = servers.incarnation
  join vanity on vanity.itag = servers.vanity_ref
  order by wanted.place`;
