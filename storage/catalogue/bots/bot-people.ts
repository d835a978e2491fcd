/**
 * The user object of a bot: what the platform last reported about it, stored in `users`.
 *
 * Written only from a lookup that succeeded. A bot that was never looked up has no row and is shown with its
 * id as its name. A person's row never becomes a bot's.
 */
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { readFirst, readValue } from '../../sql/rows.ts';
import type { IndexBotRow } from '../shared/index-rows.ts';
import type { PersonRow } from '../shared/people.ts';

/** How a bot looks. */
type BotAppearance = Pick<PersonRow, 'username' | 'avatar' | 'flags'>;

/** The result of a lookup of a bot. */
export interface BotPerson extends BotAppearance {
  /** Time of the lookup, ms. */
  readonly atMs: number;
  readonly displayName: string;
}

/** Writes the result of a lookup. */
export const upsertBotPerson = (sql: Queryable, botId: string, person: BotPerson): Promise<unknown> => sql`
  insert into users (id, username, display_name, avatar, flags, bot)
  values (${botId}, ${person.username}, ${person.displayName}, ${person.avatar},
    ${person.flags as string[]}::text[], true)
  on conflict (id) do update set username = excluded.username, display_name = excluded.display_name,
    avatar = excluded.avatar, flags = excluded.flags
  where users.bot`;

/** Reads the name for a new bot's vanity code, from this lookup or an earlier one; `''` without any. */
export const readBotName = async (
  transaction: Transaction,
  botId: string,
  person: BotPerson | null,
): Promise<string> => {
  if (person !== null) return person.displayName || person.username;
  const name = await readValue<string>(transaction`
    select coalesce(nullif(display_name, ''), username) from users where id = ${botId} and bot`);
  return name ?? '';
};

/** What the directory knows about a bot without a lookup. */
export type KnownBot = Pick<IndexBotRow, 'bot_id' | 'type' | 'short' | 'tags' | 'servers'> & BotAppearance;
/** The id of a bot's application, and the bot's own id when it is known. */
export interface BotIds {
  readonly clientId: string;
  readonly botId: string | null;
}

/** Finds a bot by its client id, else by its bot id; `null` when the directory has neither. */
export const findKnownBot = (sql: Queryable, { clientId, botId }: BotIds): Promise<KnownBot | null> =>
  readFirst(sql<KnownBot[]>`
    select bots.bot_id, bots.type, bots.short, bots.tags, coalesce(users.username, bots.bot_id) as username,
      coalesce(users.avatar, '') as avatar, coalesce(users.flags, '{}') as flags, totals.servers
    from bots
    join totals on totals.incarnation = bots.incarnation
    left join users on users.id = bots.bot_id
    where bots.client_id = ${clientId} or bots.bot_id = ${botId ?? clientId}
    order by bots.client_id <> ${clientId} limit 1`);

/**
 * Stores a lookup unless the bot is unknown or a later lookup is stored. Resolves to whether it was stored.
 */
export const noteLookup = (sql: Sql, ids: BotIds, person: BotPerson): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const at = new Date(person.atMs);
    const updated = await transaction`
      update bots set last_lookup = ${at}
      where bot_id = ${ids.botId} and client_id = ${ids.clientId}
        and (last_lookup is null or last_lookup < ${at})
      returning bot_id`;
    if (updated.length === 0 || ids.botId === null) return false;
    await upsertBotPerson(transaction, ids.botId, person);
    return true;
  });
