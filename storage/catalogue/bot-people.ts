/**
 * The user object of a bot: what the platform last said about it, kept in `users`.
 *
 * Written only from a look-up that succeeded; a bot that was never looked up has no row, and is shown with
 * its id for a name. A person's row is never turned into a bot's. Called by bot-edits.ts and catalogue.ts.
 */
import type { Queryable, Transaction } from '../sql/client.ts';

/** What a look-up tells about a bot. */
export interface BotPerson {
  readonly username: string;
  readonly displayName: string;
  readonly avatar: string;
  readonly flags: readonly string[];
}

/** Writes what a look-up told. */
export const noteBotPerson = async (sql: Queryable, botId: string, person: BotPerson): Promise<void> => {
  await sql`
    insert into users (id, username, display_name, avatar, flags, bot)
    values (${botId}, ${person.username}, ${person.displayName}, ${person.avatar},
      ${person.flags as string[]}::text[], true)
    on conflict (id) do update set username = excluded.username, display_name = excluded.display_name,
      avatar = excluded.avatar, flags = excluded.flags
    where users.bot`;
};

/** The name a new bot's vanity code is made of: from this look-up, or an earlier one; `''` without any. */
export const botNameOf = async (
  transaction: Transaction,
  botId: string,
  person: BotPerson | null,
): Promise<string> => {
  if (person !== null) return person.displayName || person.username;
  const rows = await transaction<{ name: string }[]>`
    select coalesce(nullif(display_name, ''), username) as name from users where id = ${botId} and bot`;
  return rows[0]?.name ?? '';
};
