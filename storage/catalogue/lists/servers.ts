/**
 * Servers in SQL: the profile of one server.
 *
 * Profiles have no counters: those come from the engine. A server is listed when its type is `approved` or
 * `certified` and its state is `public`.
 */
import type { Queryable } from '../../sql/client.ts';
import type { IndexServerRow } from '../shared/index-rows.ts';
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
