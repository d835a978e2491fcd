/**
 * Teams in SQL: the profile of one team, its members, bots and servers.
 *
 * Profiles have no counters: those come from the engine.
 */

import type { Fragment, Queryable } from '../../sql/client.ts';
import { readValue } from '../../sql/rows.ts';
import {
  type IndexBotRow,
  type IndexServerRow,
  selectIndexBots,
  selectIndexServers,
} from '../shared/index-rows.ts';
import { listingKeys } from '../shared/listings.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';
import { buildNameCondition, buildVanityColumn, type Profile } from '../shared/profiles.ts';

export interface TeamProfile extends Profile {
  readonly name: string;
  readonly service: string;
}
export interface MemberRow {
  readonly created_at: Date;
  readonly data_holder: boolean;
  readonly flags: readonly string[];
  readonly itag: string;
  readonly mentionable: boolean;
  /** For operators only; clients may request the permissions of one user. */
  readonly permissions: readonly string[];
  readonly service: string;
  readonly team_id: string;
  readonly user_id: string;
  readonly person: PersonRow | null;
}
/** Which lists of a team to read; the others stay empty. */
export interface TeamSelection {
  readonly members: boolean;
  readonly bots: boolean;
  readonly servers: boolean;
}
export interface TeamHoldings {
  readonly members: readonly MemberRow[];
  readonly bots: readonly IndexBotRow[];
  readonly servers: readonly IndexServerRow[];
}

/** Rows of one kind shown with a team: more than any real team has. */
const teamRowsMax = 1_000;

/** Finds by id or vanity code. Leaves out names that no team has; in any order. */
export const findTeams = (sql: Queryable, names: readonly string[]): Promise<readonly TeamProfile[]> =>
  sql<TeamProfile[]>`
    select teams.id, ${buildVanityColumn(sql, 'teams')} as vanity,
      2048 + octet_length(teams.extra_links::text) as "weightBytes",
      teams.created_at, teams.extra_links, teams.name, teams.nsfw, teams.service, teams.short, teams.tags,
      teams.updated_at, teams.vanity_ref, teams.vote_banned
    from teams
    where ${buildNameCondition(sql, 'team', names)}`;

/** Finds the oldest team with this name, in any letter case; `null` when there is none. */
export const findTeamIdByName = (sql: Queryable, name: string): Promise<string | null> =>
  readValue<string>(sql`
    select id from teams where fold_case(name) = fold_case(${name}) order by created_at, id limit 1`);

/** Lists the members, oldest membership first. */
const listMembers = (sql: Queryable, teamId: string): Promise<readonly MemberRow[]> => sql<MemberRow[]>`
  select team_members.created_at, team_members.data_holder, team_members.flags, team_members.itag,
    team_members.mentionable, team_members.permissions, team_members.service, team_members.team_id,
    team_members.user_id,
    ${buildPersonColumn(sql, 'team_members.user_id')} as person
  from team_members
  where team_members.team_id = ${teamId}
  order by team_members.created_at, team_members.user_id limit ${teamRowsMax}`;

/** Builds the list of what a team owns of one kind, of any type and state, newest first. */
const buildOwned = (sql: Queryable, kind: 'bot' | 'server', teamId: string): Fragment => {
  const id = sql(listingKeys[kind]);
  return sql`select id, row_number() over () as place from (
    select ${id} as id from ${sql(`${kind}s`)} where team_id = (select ${teamId})
    order by created_at desc, ${id} desc limit (select ${teamRowsMax}::int)) as owned`;
};

/** Reads the selected lists, one statement each. Totals are as last flushed. */
export const readHoldings = async (
  sql: Queryable,
  teamId: string,
  selection: TeamSelection,
): Promise<TeamHoldings> => ({
  members: selection.members ? await listMembers(sql, teamId) : [],
  bots: selection.bots ? await selectIndexBots(sql, buildOwned(sql, 'bot', teamId)) : [],
  servers: selection.servers ? await selectIndexServers(sql, buildOwned(sql, 'server', teamId)) : [],
});
