/**
 * The user object of a bot: what the platform last said about it, kept in `users`.
 *
 * Written only from a look-up that succeeded; a bot that was never looked up has no row, and is shown with
 * its id for a name. A person's row is never turned into a bot's. Called by bot-edits.ts and catalogue.ts.
 */
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';

/** What a look-up tells about a bot. */
export interface BotPerson {
  /** When it was told, ms. */
  readonly atMs: number;
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
export const readBotName = async (
  transaction: Transaction,
  botId: string,
  person: BotPerson | null,
): Promise<string> => {
  if (person !== null) return person.displayName || person.username;
  const rows = await transaction<{ name: string }[]>`
    select coalesce(nullif(display_name, ''), username) as name from users where id = ${botId} and bot`;
  return rows[0]?.name ?? '';
};

/** What the directory knows about a bot without asking anybody. */
export interface KnownBot {
  readonly bot_id: string;
  readonly type: string;
  readonly short: string;
  readonly tags: readonly string[];
  readonly username: string;
  readonly avatar: string;
  readonly flags: readonly string[];
  /** As last flushed, to the digit. */
  readonly servers: string;
}
/** A bot by the id of its application, and by its own when that is known. */
export interface BotIds {
  readonly clientId: string;
  readonly botId: string | null;
}

/** The listed bot with this client id, else with this bot id; `null` when neither is listed. */
export const findKnownBot = async (sql: Queryable, { clientId, botId }: BotIds): Promise<KnownBot | null> => {
  const rows = await sql<KnownBot[]>`
    select bots.bot_id, bots.type, bots.short, bots.tags, coalesce(users.username, bots.bot_id) as username,
      coalesce(users.avatar, '') as avatar, coalesce(users.flags, '{}') as flags, totals.servers
    from bots
    join totals on totals.incarnation = bots.incarnation
    left join users on users.id = bots.bot_id
    where bots.client_id = ${clientId} or bots.bot_id = ${botId ?? clientId}
    order by bots.client_id <> ${clientId} limit 1`;
  return rows[0] ?? null;
};

/**
 * Keeps a look-up of a listed bot, unless a later one was kept already. Resolves to whether it was kept.
 */
export const noteLookup = (sql: Sql, ids: BotIds, person: BotPerson): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const at = new Date(person.atMs);
    const noted = await transaction`
      update bots set last_lookup = ${at}
      where bot_id = ${ids.botId} and client_id = ${ids.clientId}
        and (last_lookup is null or last_lookup < ${at})
      returning bot_id`;
    if (noted.length === 0 || ids.botId === null) return false;
    await noteBotPerson(transaction, ids.botId, person);
    return true;
  });
