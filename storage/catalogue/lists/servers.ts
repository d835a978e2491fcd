/**
 * Servers in SQL: one server's profile, and the servers of a team.
 *
 * Profiles carry no counters: those come from the engine. Lists carry totals as last flushed. In lists means
 * approved or certified, and public. One statement per function; called by catalogue.ts and its caches.
 */
import type { Queryable } from '../../sql/client.ts';
import { type IndexServerRow, selectIndexServers } from '../shared/index-rows.ts';
import {
  buildIdCondition,
  buildNameCondition,
  buildProfileColumns,
  type Condition,
  type ListingProfile,
} from '../shared/profiles.ts';

export interface ServerProfile extends ListingProfile {
  readonly avatar: string;
  readonly name: string;
  readonly online_members: number;
  readonly state: string;
  readonly team_id: string;
  readonly total_members: number;
}

const selectServers = (sql: Queryable, condition: Condition): Promise<readonly ServerProfile[]> =>
  sql<ServerProfile[]>`
    select ${buildProfileColumns(sql, 'server')}, servers.avatar, servers.name, servers.online_members,
      servers.state, servers.team_id, servers.total_members
    from servers
    join vanity on vanity.itag = servers.vanity_ref
    where ${condition}`;

/** By id, else by vanity code. */
export const findServer = async (sql: Queryable, word: string): Promise<ServerProfile | null> => {
  const rows = await selectServers(sql, buildNameCondition(sql, 'server', word));
  return rows[0] ?? null;
};

/** Those of them that there are, in any order. */
export const findServers = (sql: Queryable, ids: readonly string[]): Promise<readonly ServerProfile[]> =>
  selectServers(sql, buildIdCondition(sql, 'server', ids));

/** Servers of a team, newest first, whatever their type and state. */
export const listTeamServers = (
  sql: Queryable,
  teamId: string,
  rowsMax: number,
): Promise<readonly IndexServerRow[]> =>
  selectIndexServers(
    sql,
    sql`select id, row_number() over () as place from (
      select server_id as id from servers where team_id = ${teamId}
      order by created_at desc, server_id desc limit ${rowsMax}) as mine`,
  );
