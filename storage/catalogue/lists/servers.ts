/**
 * Servers in SQL: the profile of one server, and the servers of a team.
 *
 * Profiles have no counters: those come from the engine. Lists have totals as last flushed. A server is
 * listed when its type is `approved` or `certified` and its state is `public`.
 */
import type { Queryable } from '../../sql/client.ts';
import { type IndexServerRow, selectIndexServers } from '../shared/index-rows.ts';
import { buildNameCondition, buildProfileColumns, type ListingProfile } from '../shared/profiles.ts';

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

/** Lists all servers of a team of any type and state, newest first. */
export const listTeamServers = (
  sql: Queryable,
  teamId: string,
  rowsMax: number,
): Promise<readonly IndexServerRow[]> =>
  selectIndexServers(
    sql,
    sql`select id, row_number() over () as place from (
      select server_id as id from servers where team_id = (select ${teamId})
      order by created_at desc, server_id desc limit (select ${rowsMax}::int)) as team_servers`,
  );
