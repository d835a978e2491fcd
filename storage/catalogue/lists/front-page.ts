/**
 * The front page: five short lists of bots and the newest packs, from totals as last flushed.
 *
 * The bots take two statements at any size of the directory: one finds the ids of all lists in indexes on
 * totals and creation, one reads each bot once.
 */
import type { Queryable } from '../../sql/client.ts';
import { type PackPage, readNewestPacks } from '../packs/packs.ts';
import { buildIdList, buildPremiumUntil, type IndexBotRow, selectIndexBots } from '../shared/index-rows.ts';

const frontPageLists = ['certified', 'premium', 'top_voted', 'most_viewed', 'recently_added'] as const;
export type FrontPageList = (typeof frontPageLists)[number];
const packsMax = 12;

export interface FrontPage {
  readonly bots: Readonly<Record<FrontPageList, readonly IndexBotRow[]>>;
  readonly packs: PackPage;
}

/**
 * Selects the first listed bots by a column of totals. `offset 0` makes the planner look up the bot row by
 * row along the index on totals, instead of sorting all bots.
 */
const selectTop = (sql: Queryable, column: 'votes' | 'clicks') => sql`
  select listed.id from totals cross join lateral (
    select bot_id as id from bots where bots.incarnation = totals.incarnation
      and type in ('approved', 'certified') offset 0) as listed
  where totals.kind = 'bot' order by totals.${sql(column)} desc, totals.incarnation limit 9`;

/**
 * Reads the bot ids of all lists, nine of each, in order. Without parameters, Postgres plans the statement
 * once.
 */
const selectLists = (sql: Queryable) => sql<{ list: FrontPageList; id: string }[]>`
  select list, id from (
    select 'certified' as list, id, row_number() over () as place from (
      select bots.bot_id as id from totals join bots on bots.incarnation = totals.incarnation
      where totals.kind = 'bot' and bots.type = 'certified'
      order by totals.votes desc, totals.incarnation limit 9) as certified
    union all
    select 'premium', id, row_number() over () from (
      select bots.bot_id as id from bots join totals on totals.incarnation = bots.incarnation
      where bots.start_premium_period <= now() and ${buildPremiumUntil(sql, 'bots')} > now()
        and bots.type in ('approved', 'certified')
      order by totals.votes desc, totals.incarnation limit 9) as premium
    union all
    select 'top_voted', id, row_number() over () from (${selectTop(sql, 'votes')}) as top_voted
    union all
    select 'most_viewed', id, row_number() over () from (${selectTop(sql, 'clicks')}) as most_viewed
    union all
    select 'recently_added', id, row_number() over () from (
      select bot_id as id from bots where type in ('approved', 'certified')
      order by created_at desc, bot_id desc limit 9) as recently_added
  ) as lists
  order by list, place`;

/** Reads the whole front page. */
export const readFrontPage = async (sql: Queryable): Promise<FrontPage> => {
  const entries = await selectLists(sql);
  const ids = [...new Set(entries.map((entry) => entry.id))];
  const rows = new Map((await selectIndexBots(sql, buildIdList(sql, ids))).map((row) => [row.bot_id, row]));
  const listBots = (list: FrontPageList): readonly IndexBotRow[] =>
    entries.filter((entry) => entry.list === list).flatMap((entry) => rows.get(entry.id) ?? []);
  const bots = Object.fromEntries(frontPageLists.map((list) => [list, listBots(list)])) as FrontPage['bots'];
  return { bots, packs: await readNewestPacks(sql, packsMax) };
};
