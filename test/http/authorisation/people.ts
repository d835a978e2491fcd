/**
 * Creates a new set of people and listings for one request, so that a request that is let through can change
 * them: a user who owns a team, the team's bot and server, a pack of the user, a plain member, a second team.
 */
import { importLines } from '../../../storage/import/import.ts';
import type { ImportRecord } from '../../../storage/import/kinds.ts';
import type { Sql } from '../../../storage/sql/client.ts';

export interface People {
  readonly user: string;
  readonly member: string;
  readonly stranger: string;
  readonly team: string;
  readonly secondTeam: string;
  readonly bot: string;
  readonly server: string;
  readonly pack: string;
}

let made = 0;
const words = 'Counts what it is told to count, and nothing else at all.';
const common = { tags: ['matrix'], short: words };

const listingsOf = (people: People): ImportRecord[] => {
  const { user, member, team, secondTeam, bot, server, pack } = people;
  const members = [
    { user_id: user, perms: ['owner'], data_holder: true },
    { user_id: member, perms: [] },
  ];
  return [
    { kind: 'team', id: team, name: `Team ${team.slice(-9)}`, ...common, members },
    { kind: 'team', id: secondTeam, name: `Second ${team.slice(-9)}`, ...common, members },
    { kind: 'server', server_id: server, team_owner: team, type: 'approved', name: 'Server', ...common },
    {
      kind: 'bot',
      bot_id: bot,
      team_owner: team,
      type: 'approved',
      library: 'any',
      prefix: '!',
      long: words.repeat(10),
      invite: 'https://example.org/invite',
      ...common,
    },
    { kind: 'pack', url: pack, owner: user, name: `Pack ${pack.slice(-9)}`, bot_ids: [bot], ...common },
  ];
};

/** Returns the ids of a new set, which is not in the directory yet. */
export const newPeople = (): People => {
  made += 1;
  const digits = String(made).padStart(15, '0');
  return {
    user: `1${digits}`,
    member: `4${digits}`,
    stranger: `5${digits}`,
    team: `team-${digits}`,
    secondTeam: `second-${digits}`,
    bot: `2${digits}`,
    server: `3${digits}`,
    pack: `pack-${digits}`,
  };
};

/** Imports a set into the directory. */
export const settle = async (sql: Sql, people: People): Promise<People> => {
  const users = [people.user, people.member, people.stranger];
  const records: ImportRecord[] = [
    ...users.map((id): ImportRecord => ({ kind: 'user', id, username: `user${id.slice(-5)}` })),
    ...listingsOf(people),
  ];
  const { rejected } = await importLines(
    sql,
    records.map((record) => JSON.stringify(record)),
  );
  if (rejected > 0) throw new Error(`${rejected} records of ${people.user} were rejected`);
  return people;
};
