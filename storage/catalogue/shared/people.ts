/**
 * People and platform bots in SQL (`users`), and how other rows embed people, and listings of any kind.
 *
 * Never queries the platform: a person who is not in SQL is `null` here, and the facade shows a placeholder.
 */
import type { Queryable, Transaction } from '../../sql/client.ts';
import { hasRow } from '../../sql/rows.ts';

export interface PersonRow {
  readonly id: string;
  readonly username: string;
  readonly display_name: string;
  readonly avatar: string;
  readonly bot: boolean;
  readonly flags: readonly string[];
  readonly extra_data: Readonly<Record<string, unknown>>;
  readonly status: string;
}

/** A user as events show them. */
export type EventPerson = Pick<PersonRow, 'id' | 'username' | 'display_name' | 'avatar'>;
type EventNames = Partial<Record<'username' | 'display_name' | 'avatar', string | null>>;

/** Converts a user; an unknown one is shown by their id. */
export const toEventPerson = (id: string, { username, display_name, avatar }: EventNames): EventPerson => ({
  id,
  username: username ?? id,
  display_name: display_name ?? id,
  avatar: avatar ?? '',
});

/** Builds a column with the person whose id is in `idColumn` as JSON; null if there is none. */
export const buildPersonColumn = (sql: Queryable, idColumn: string) => sql`(
  select jsonb_build_object('id', users.id, 'username', users.username, 'display_name', users.display_name,
    'avatar', users.avatar, 'bot', users.bot, 'flags', to_jsonb(users.flags),
    'extra_data', users.extra_data, 'status', users.status) from users where users.id = ${sql(idColumn)})`;

/** Builds a join that adds the name and picture of the listing of a `totals` row of any kind. */
export const buildListingNames = (sql: Queryable) => sql`
  left join lateral (
    select coalesce(users.username, totals.entity_id) as name, coalesce(users.avatar, '') as avatar
      from (select) as one_row left join users on users.id = totals.entity_id where totals.kind = 'bot'
    union all
    select name, avatar from servers where totals.kind = 'server' and server_id = totals.entity_id
    union all
    select name, '' from teams where totals.kind = 'team' and id = totals.entity_id
    union all
    select name, '' from packs where totals.kind = 'pack' and url = totals.entity_id
  ) as named on true`;

/** Finds people by their ids. Unknown ones are missing. */
export const findPeople = async (
  sql: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PersonRow>> => {
  const rows = await sql<PersonRow[]>`
    select id, username, display_name, avatar, bot, flags, extra_data, status from users
    where id = any(${ids as string[]}::text[])`;
  return new Map(rows.map((row) => [row.id, row]));
};

/**
 * Makes sure that a user has a row in `users`: a placeholder whose name is the id. Resolves to whether the
 * row is new.
 */
export const insertMissingPerson = (transaction: Transaction, userId: string): Promise<boolean> =>
  hasRow(transaction`
    insert into users (id, username, display_name) values (${userId}, ${userId}, ${userId})
    on conflict (id) do nothing returning id`);
