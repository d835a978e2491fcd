/**
 * Fills a database with bots by copying one imported bot, in batches: importing a million would take an hour.
 *
 * Writes what an import writes: totals, a vanity code, the bot. Nothing goes to the hot store: the first
 * request for an entity activates it.
 */
import postgres from 'postgres';
import { computeShard, toAddress } from '../../engine/ids.ts';
import { openStores } from '../../storage/open.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { Live } from '../report/live.ts';
import type { Names } from '../scenarios/names.ts';
import type { World } from './world.ts';

const firstId = 500_000_000_000_000_000n;
const batchRows = 10_000;

export const toGrownId = (index: number): string => String(firstId + BigInt(index));

interface Copies {
  readonly template: string;
  readonly count: number;
  /** What each is called; all alike if absent. */
  readonly makeNames?: (index: number) => Names;
}

/** The accounts of bots. First, so that the search describes each bot once. */
const addAccounts = async (sql: Sql, ids: readonly string[], names: readonly Names[]) => {
  const usernames = names.map(({ username }) => username);
  const displayNames = names.map(({ displayName }) => displayName);
  await sql`insert into users (id, username, display_name, bot)
    select id, username, display_name, true from unnest(${ids as string[]}::text[],
      ${usernames}::text[], ${displayNames}::text[]) as list (id, username, display_name)`;
};

/** Adds `count` bots like `template`. Calls `onBatch` with the number so far. */
export const copyBots = async (
  sql: Sql,
  { template, count, makeNames }: Copies,
  onBatch: (done: number) => void,
): Promise<void> => {
  for (let from = 0; from < count; from += batchRows) {
    const length = Math.min(batchRows, count - from);
    const ids = Array.from({ length }, (_, index) => toGrownId(from + index));
    const shards = ids.map((id) => Number(computeShard(toAddress('bot', id))));
    const names = makeNames === undefined ? [] : ids.map((_, index) => makeNames(from + index));
    if (names.length > 0) await addAccounts(sql, ids, names);
    await sql`
      with new as (
        select id, shard, nextval('incarnations') as incarnation, gen_random_uuid() as vanity_ref,
          list.short, string_to_array(list.tags, ',') as tags
        from unnest(string_to_array(${ids.join()}, ','), string_to_array(${shards.join()}, ',')::smallint[],
          ${names.map(({ short }) => short)}::text[], ${names.map(({ tags }) => tags.join())}::text[])
          as list (id, shard, short, tags)),
      counted as (
        insert into totals (incarnation, kind, entity_id, shard)
        select incarnation, 'bot', id, shard from new),
      coded as (
        insert into vanity (itag, code, target_type, target_id)
        select vanity_ref, 'b' || id, 'bot', id from new)
      insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, type, owner_id, library, prefix,
        short, long, invite, tags, listed_since)
      select id, new.incarnation, id, gen_random_uuid(), new.vanity_ref, type, owner_id, library, prefix,
        coalesce(new.short, template.short), long, invite, coalesce(new.tags, template.tags), listed_since
      from new cross join (select * from bots where bot_id = ${template}) as template`;
    onBatch(from + length);
  }
};

/** Adds bots to the stores of a world without nodes. */
export const fillWorld = async (
  { stores, folder, directory }: World,
  {
    count,
    makeNames,
    live,
  }: { readonly count: number; readonly makeNames?: Copies['makeNames']; readonly live: Live },
): Promise<void> => {
  const copies = { template: directory.bots[0]?.id ?? '', count, ...(makeNames && { makeNames }) };
  const onBatch = (done: number): void => live.show(`${done} of ${count} bots …`);
  const address = stores.rollcall.DATABASE_URL ?? '';
  if (address === '') {
    const config = { dataDir: folder.dataDir, redisUrl: [], databaseUrl: '' };
    const opened = await openStores(config, { clock: Date.now, onWarning: () => {} });
    const fill = copyBots(opened.sql, copies, onBatch).then(() => opened.sql`vacuum analyze`);
    await fill.finally(() => opened.close());
    return;
  }
  // The product's connections abort a statement after seconds.
  const sql = postgres(address, { max: 1, onnotice: () => {} });
  await copyBots(sql as unknown as Sql, copies, onBatch);
  // Now, and not during a measurement.
  await sql`vacuum analyze`;
  await sql`checkpoint`;
  await sql.end();
};
