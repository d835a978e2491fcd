/**
 * People as the operator sees and changes them. A user whom nobody wrote down yet comes into being with the
 * first word about him, his id for a name.
 *
 * Bans are read with every session: who changes one has the sessions' copies dropped (`around` of the
 * mirror, `forget` of a node's cache). Called by catalogue.ts.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { insertMissingPerson } from '../shared/people.ts';
import { selectAffectedByBan } from './sessions.ts';

export interface UserRow {
  readonly id: string;
  readonly username: string;
  readonly display_name: string;
  readonly avatar: string;
  readonly bot: boolean;
  readonly flags: readonly string[];
  readonly banned: boolean;
  readonly vote_banned: boolean;
  readonly created_at: Date;
}
/** `null` leaves a field as it is. */
export interface UserChange {
  readonly username: string | null;
  readonly displayName: string | null;
  readonly avatar: string | null;
  readonly flags: readonly string[] | null;
}
export type BanKind = 'banned' | 'vote_banned';

export interface PeopleEdits {
  find(id: string): Promise<UserRow | null>;
  /** By id; of all users, or of those with this ban. */
  page(page: number, ban: BanKind | null): Promise<readonly UserRow[]>;
  /** Creates or changes. Ledger when it resolves. */
  put(id: string, change: UserChange): Promise<void>;
  /** Of a user who is banned the team tokens they minted end. Ledger when it resolves. */
  setBan(id: string, ban: BanKind, value: boolean): Promise<BanOutcome>;
}
export interface BanOutcome {
  /** The id was unknown before. */
  readonly stranger: boolean;
  /** Ids of the sessions that ended, or whose `banned` or `voteBanned` may be another now. */
  readonly sessions: readonly string[];
}

const usersPerPage = 50;

const buildUserColumns = (sql: Queryable) =>
  sql`id, username, display_name, avatar, bot, flags, banned, vote_banned, created_at`;

export const createPeopleEdits = (sql: Sql): PeopleEdits => ({
  find: (id) =>
    asStorage('people.find', async () => {
      const [row] = await sql<UserRow[]>`select ${buildUserColumns(sql)} from users where id = ${id}`;
      return row ?? null;
    }),
  page: (page, ban) =>
    asStorage(
      'people.page',
      () => sql<UserRow[]>`
        select ${buildUserColumns(sql)} from users ${ban === null ? sql`` : sql`where ${sql(ban)}`}
        order by id limit ${usersPerPage} offset ${(page - 1) * usersPerPage}`,
    ),
  put: (id, change) =>
    asStorage('people.put', () =>
      sql.begin(async (transaction) => {
        await insertMissingPerson(transaction, id);
        await transaction`
          update users set username = coalesce(${change.username}, username),
            display_name = coalesce(${change.displayName}, ${change.username}, display_name),
            avatar = coalesce(${change.avatar}, avatar),
            flags = coalesce(${change.flags as string[] | null}::text[], flags)
          where id = ${id}`;
      }),
    ).then(() => {}),
  setBan: (id, ban, value) =>
    asStorage('people.setBan', () =>
      sql.begin(async (transaction) => {
        const stranger = await insertMissingPerson(transaction, id);
        await transaction`update users set ${transaction(ban)} = ${value} where id = ${id}`;
        const felt = await transaction<{ id: string }[]>`
          select id from sessions where ${selectAffectedByBan(transaction, id)}`;
        if (ban === 'banned' && value) {
          await transaction`delete from sessions where target_type = 'team' and minted_by = ${id}`;
        }
        return { stranger, sessions: felt.map((session) => session.id) };
      }),
    ),
});
