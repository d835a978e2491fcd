/**
 * Edits drawn by chance on lists cut into tiny segments, and the walk that judges what readers are shown.
 *
 * Called by the tests of list orders on the embedded store and on a Postgres server.
 */

import type { Random } from '../../../ops/demo/random.ts';
import type { ListOrders } from '../../../storage/catalogue/lists/list-order.ts';
import type { ListName } from '../../../storage/catalogue/lists/list-segments.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { addBot, addPack, addServer } from './directory.ts';

/** Few instants, so that many rows share one. */
const instants = 6;
let made = 0;

const instantOf = (random: Random): Date => new Date(Date.UTC(2026, 0, 1 + random.below(instants)));
const bits = ['pending', 'approved', 'certified', 'denied'];

/** One edit of one list: something comes, goes, is listed or no longer listed. */
export const editList = async (sql: Sql, list: ListName, random: Random): Promise<void> => {
  const id = `x${++made}`;
  const created_at = instantOf(random);
  const type = bits[random.below(bits.length)] as string;
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

/** The list as one plain statement sees it. */
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
  /** Whether all of it was read while the order was in force. */
  readonly whole: boolean;
}

/** All pages of one order. `between` runs after each page. */
export const walkList = async (
  orders: ListOrders,
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
