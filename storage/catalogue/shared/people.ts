/**
 * People and platform bots as SQL knows them (`users`): the person inside other rows.
 *
 * Never looks anybody up outside: a person SQL does not know is `null` here, and the facade shows a stand-in.
 * Callers: the other catalogue files.
 */
import type { Queryable, Transaction } from '../../sql/client.ts';

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

/** One person as a JSON column of another row; `alias` is a left-joined `users`. */
export const buildPersonColumn = (sql: Queryable, alias: string) => sql`
  case when ${sql(alias)}.id is null then null else jsonb_build_object(
    'id', ${sql(alias)}.id, 'username', ${sql(alias)}.username, 'display_name', ${sql(alias)}.display_name,
    'avatar', ${sql(alias)}.avatar, 'bot', ${sql(alias)}.bot, 'flags', to_jsonb(${sql(alias)}.flags),
    'extra_data', ${sql(alias)}.extra_data, 'status', ${sql(alias)}.status) end`;

/**
 * Makes sure that a user has a row to refer to: a stand-in with his id for a name, as everywhere. Resolves to
 * whether nobody knew him before.
 */
export const insertMissingPerson = async (transaction: Transaction, userId: string): Promise<boolean> => {
  const rows = await transaction`
    insert into users (id, username, display_name) values (${userId}, ${userId}, ${userId})
    on conflict (id) do nothing returning id`;
  return rows.length === 1;
};
