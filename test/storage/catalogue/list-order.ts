/**
 * Random edits of lists that are cut into tiny segments, and a walk over all pages that shows what readers
 * get.
 */

import type { Random } from '../../../bench/shared/random.ts';
import type { createListOrders } from '../../../storage/catalogue/lists/list-order.ts';
import type { ListName } from '../../../storage/catalogue/lists/list-segments.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { addBot, addPack, addServer } from './directory.ts';

/** So few that many rows share one. */
const timestamps = 6;
let createdRows = 0;

const drawTimestamp = (random: Random): Date => new Date(Date.UTC(2026, 0, 1 + random.below(timestamps)));
const types = ['pending', 'approved', 'certified', 'denied'];

/** Makes one edit: a row is added, deleted, listed or unlisted. */
export const editList = async (sql: Sql, list: ListName, random: Random): Promise<void> => {
  const id = `x${++createdRows}`;
  const created_at = drawTimestamp(random);
  const type = types[random.below(types.length)] as string;
  const kind = random.below(10);
  if (list === 'packs') {
    if (kind < 6) await addPack(sql, id, { created_at });
    else await sql`delete from packs where url in (select url from packs order by md5(url || ${id}) limit 1)`;
  } else if (list === 'servers') {
    if (kind < 6) await addServer(sql, id, { team_id: 'team1', created_at, type });
    else
      await sql`
        update servers set type = ${type}, state = case when state = 'public' then 'private' else 'public' end
        where server_id in (select server_id from servers order by md5(server_id || ${id}) limit 1)`;
  } else if (kind < 6) await addBot(sql, id, { created_at, type });
  else if (kind < 8)
    await sql`
      update bots set type = ${type}
      where bot_id in (select bot_id from bots order by md5(bot_id || ${id}) limit 1)`;
  else
    await sql`
      delete from bots where bot_id in (
        select bot_id from bots order by md5(bot_id || ${id}) limit 2)`;
};

/** Reads all ids of the list in order with one plain statement. */
export const plainList = async (sql: Sql, list: ListName): Promise<readonly string[]> => {
  const rows =
    list === 'packs'
      ? await sql<{ id: string }[]>`select url as id from packs order by created_at desc, url desc`
      : list === 'servers'
        ? await sql<{ id: string }[]>`
            select server_id as id from servers where type in ('approved', 'certified') and state = 'public'
            order by created_at desc, server_id desc`
        : await sql<{ id: string }[]>`
            select bot_id as id from bots where type in ('approved', 'certified')
            order by created_at desc, bot_id desc`;
  return rows.map((row) => row.id);
};

export interface Walk {
  readonly ids: readonly string[];
  readonly count: number;
  /** Whether all pages were read before the order was over. */
  readonly whole: boolean;
}

/** Reads all pages of one order. `between` runs after each page. */
export const walkList = async (
  orders: ReturnType<typeof createListOrders>,
  list: ListName,
  options: { readonly perPage: number; readonly between?: () => Promise<void> },
): Promise<Walk> => {
  const order = await orders.read(list);
  const ids: string[] = [];
  for (let offset = 0; offset < order.count; offset += options.perPage) {
    ids.push(...(await order.readIds(offset, options.perPage)));
    await options.between?.();
  }
  return { ids, count: order.count, whole: !order.isOver() };
};
