/**
 * People and platform bots in SQL (`users`), and how other rows embed them.
 *
 * Never queries the platform: a person who is not in SQL is `null` here, and the facade shows a placeholder.
 * Used by the other files of the catalogue.
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

/** Builds a column with one person as JSON, or null; `alias` is a left-joined `users`. */
export const buildPersonColumn = (sql: Queryable, alias: string) => sql`
  case when ${sql(alias)}.id is null then null else jsonb_build_object(
    'id', ${sql(alias)}.id, 'username', ${sql(alias)}.username, 'display_name', ${sql(alias)}.display_name,
    'avatar', ${sql(alias)}.avatar, 'bot', ${sql(alias)}.bot, 'flags', to_jsonb(${sql(alias)}.flags),
    'extra_data', ${sql(alias)}.extra_data, 'status', ${sql(alias)}.status) end`;

/**
 * Makes sure that a user has a row in `users`: a placeholder whose name is the id. Resolves to whether the
 * row is new.
 */
export const insertMissingPerson = async (transaction: Transaction, userId: string): Promise<boolean> => {
  const rows = await transaction`
    insert into users (id, username, display_name) values (${userId}, ${userId}, ${userId})
    on conflict (id) do nothing returning id`;
  return rows.length === 1;
};
