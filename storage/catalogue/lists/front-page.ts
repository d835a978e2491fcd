/**
 * The front page: five short lists of bots and the newest packs, from totals as last flushed.
 *
 * Two statements whatever the directory's size: the lists' ids come from indexes on totals and creation,
 * then each bot is filled in once. Called by catalogue.ts behind a snapshot.
 */
import type { Queryable } from '../../sql/client.ts';
import { type PackPage, readNewestPacks } from '../packs/packs.ts';
import { buildIdList, buildPremiumUntil, type IndexBotRow, selectIndexBots } from '../shared/index-rows.ts';

const frontPageLists = ['certified', 'premium', 'top_voted', 'most_viewed', 'recently_added'] as const;
export type FrontPageList = (typeof frontPageLists)[number];
const botsPerList = 9;
const packsMax = 12;

export interface FrontPage {
  readonly bots: Readonly<Record<FrontPageList, readonly IndexBotRow[]>>;
  readonly packs: PackPage;
}

/**
 * The listed bot of a totals row. `offset 0` keeps it a look-up per row, so that the best few are found along
 * the index on totals and never by sorting all of them.
 */
const buildListedBot = (sql: Queryable) => sql`(
  select bot_id as id from bots where bots.incarnation = totals.incarnation
    and type in ('approved', 'certified') offset 0)`;

/** Which bots stand in which list, in order. */
const selectLists = (sql: Queryable) => sql<{ list: FrontPageList; id: string }[]>`
  select list, id from (
    select 'certified' as list, id, row_number() over () as place from (
      select bots.bot_id as id from totals join bots on bots.incarnation = totals.incarnation
      where totals.kind = 'bot' and bots.type = 'certified'
      order by totals.votes desc, totals.incarnation limit ${botsPerList}) as certified
    union all
    select 'premium', id, row_number() over () from (
      select bots.bot_id as id from bots join totals on totals.incarnation = bots.incarnation
      where bots.start_premium_period is not null and ${buildPremiumUntil(sql, 'bots')} > now()
        and bots.type in ('approved', 'certified')
      order by totals.votes desc, totals.incarnation limit ${botsPerList}) as premium
    union all
    select 'top_voted', id, row_number() over () from (
      select listed.id from totals cross join lateral ${buildListedBot(sql)} as listed
      where totals.kind = 'bot' order by totals.votes desc, totals.incarnation
      limit ${botsPerList}) as top_voted
    union all
    select 'most_viewed', id, row_number() over () from (
      select listed.id from totals cross join lateral ${buildListedBot(sql)} as listed
      where totals.kind = 'bot' order by totals.clicks desc, totals.incarnation
      limit ${botsPerList}) as most_viewed
    union all
    select 'recently_added', id, row_number() over () from (
      select bot_id as id from bots where type in ('approved', 'certified')
      order by created_at desc, bot_id desc limit ${botsPerList}) as recently_added
  ) as lists
  order by list, place`;

export const readFrontPage = async (sql: Queryable): Promise<FrontPage> => {
  const places = await selectLists(sql);
  const ids = [...new Set(places.map((place) => place.id))];
  const rows = new Map((await selectIndexBots(sql, buildIdList(sql, ids))).map((row) => [row.bot_id, row]));
  const botsOf = (list: FrontPageList): readonly IndexBotRow[] =>
    places.filter((place) => place.list === list).flatMap((place) => rows.get(place.id) ?? []);
  return {
    bots: {
      certified: botsOf('certified'),
      premium: botsOf('premium'),
      top_voted: botsOf('top_voted'),
      most_viewed: botsOf('most_viewed'),
      recently_added: botsOf('recently_added'),
    },
    packs: await readNewestPacks(sql, packsMax),
  };
};
