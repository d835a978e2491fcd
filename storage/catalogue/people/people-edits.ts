/**
 * People as the operator sees and edits them. An edit of an unknown user, but not the end of a ban,
 * creates the user, with the id as name.
 *
 * Bans are read with every session. In a fleet the mirrored sessions end with the edit
 * (storage/nodes/shared-catalogue.ts); the caller drops the node's cached ones (`forget`).
 */
import { bindTransactions, type Queryable, type Sql, type Transaction } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { readColumn, readFirst } from '../../sql/rows.ts';
import { insertMissingPerson, type PersonRow } from '../shared/people.ts';
import { buildAffectedByBan } from './sessions.ts';

export interface UserRow extends Omit<PersonRow, 'extra_data' | 'status'> {
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

const findUser = (sql: Queryable, id: string): Promise<UserRow | null> =>
  readFirst(sql<UserRow[]>`
    select id, username, display_name, avatar, bot, flags, banned, vote_banned, created_at
    from users where id = ${id}`);

/** Creates or changes a user. */
const putUser = async (transaction: Transaction, id: string, change: UserChange): Promise<void> => {
  await insertMissingPerson(transaction, id);
  await transaction`
    update users set username = coalesce(${change.username}, username),
      display_name = coalesce(${change.displayName},
        case when display_name = username then ${change.username}::text end, display_name),
      avatar = coalesce(${change.avatar}, avatar),
      flags = coalesce(${change.flags as string[] | null}::text[], flags)
    where id = ${id}`;
};

/**
 * Sets or lifts a ban. The ban `banned` ends the team tokens that the user minted. `stranger`: the id was
 * unknown before; a ban has created the user, the end of a ban has changed nothing. `sessions`: ids of those
 * that ended, or whose `banned` or `voteBanned` may have changed.
 */
const setBan = async (
  transaction: Transaction,
  id: string,
  { ban, value }: { readonly ban: BanKind; readonly value: boolean },
) => {
  const created = value && (await insertMissingPerson(transaction, id));
  const changed = await transaction`update users set ${transaction(ban)} = ${value} where id = ${id}`;
  const sessions = await readColumn<string>(transaction`
    select id from sessions where ${buildAffectedByBan(transaction, id)}`);
  if (ban === 'banned' && value)
    await transaction`delete from sessions where target_type = 'team' and minted_by = ${id}`;
  return { stranger: created || changed.count === 0, sessions };
};

/** Every change is ledger when it resolves. */
export const createPeopleEdits = (sql: Sql) => ({
  ...bindStorage('people', sql, { find: findUser }),
  ...bindTransactions('people', sql, { put: putUser, setBan }),
});
