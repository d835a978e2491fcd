/**
 * Servers in SQL: one server's profile, and the servers of a team.
 *
 * Profiles carry no counters: those come from the engine. Lists carry totals as last flushed. In lists means
 * approved or certified, and public. One statement per function; called by catalogue.ts and its caches.
 */
import type { Queryable } from '../sql/client.ts';
import type { LinkRow } from './bots.ts';
import type { Cacheable } from './cache.ts';
import { type IndexServerRow, indexServers, premiumUntil } from './index-rows.ts';

export interface ServerProfile extends Cacheable {
  readonly avatar: string;
  readonly created_at: Date;
  readonly extra_links: readonly LinkRow[];
  readonly invite: string;
  readonly long: string;
  readonly name: string;
  readonly nsfw: boolean;
  readonly online_members: number;
  readonly premium_until: Date | null;
  readonly short: string;
  readonly state: string;
  readonly tags: readonly string[];
  readonly team_id: string;
  readonly total_members: number;
  readonly type: string;
  readonly updated_at: Date;
  readonly vanity_ref: string;
  readonly vote_banned: boolean;
}

/** By id, else by vanity code. */
export const findServer = async (sql: Queryable, word: string): Promise<ServerProfile | null> => {
  const rows = await sql<ServerProfile[]>`
    select servers.server_id as id, vanity.code as vanity,
      4096 + 2 * length(servers.long) + octet_length(servers.extra_links::text) as "weightBytes",
      servers.avatar, servers.created_at, servers.extra_links, servers.invite, servers.long, servers.name,
      servers.nsfw, servers.online_members, ${premiumUntil(sql, 'servers')} as premium_until, servers.short,
      servers.state, servers.tags, servers.team_id, servers.total_members, servers.type, servers.updated_at,
      servers.vanity_ref, servers.vote_banned
    from servers
    join vanity on vanity.itag = servers.vanity_ref
    where servers.server_id = coalesce(
      (select server_id from servers where server_id = ${word}),
      (select target_id from vanity where code = lower(${word}) and target_type = 'server'))`;
  return rows[0] ?? null;
};

/** Servers of a team, newest first, whatever their type and state. */
export const listTeamServers = (
  sql: Queryable,
  teamId: string,
  rowsMax: number,
): Promise<readonly IndexServerRow[]> =>
  indexServers(
    sql,
    sql`select id, row_number() over () as place from (
      select server_id as id from servers where team_id = ${teamId}
      order by created_at desc, server_id desc limit ${rowsMax}) as mine`,
  );
