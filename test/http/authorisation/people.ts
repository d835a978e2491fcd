/**
 * Creates a new set of people and listings for one request, so that a request that is let through can change
 * them: a user who owns a team, the team's bot and server, a pack of the user, a plain member, a second team.
 */
import type { Sql } from '../../../storage/sql/client.ts';
import {
  addBot,
  addMember,
  addPack,
  addServer,
  addTeam,
  addUser,
} from '../../storage/catalogue/directory.ts';

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

/** Writes a set into the directory. */
export const addPeople = async (sql: Sql, people: People): Promise<People> => {
  const { user, member, stranger, bot } = people;
  for (const id of [user, member, stranger]) await addUser(sql, id);
  for (const team of [people.team, people.secondTeam]) {
    await addTeam(sql, team);
    await addMember(sql, team, { user, permissions: ['owner'] });
    await addMember(sql, team, { user: member, permissions: [] });
  }
  await sql`update team_members set data_holder = true where user_id = ${user}`;
  await addServer(sql, people.server, { team_id: people.team });
  await addBot(sql, bot, { team_id: people.team });
  await addPack(sql, people.pack, { owner_id: user, bot_ids: [bot] });
  return people;
};
