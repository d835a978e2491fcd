/**
 * Pages of the long lists: ids from the order in force, rows filled in, kept as long as a snapshot.
 *
 * Pages of one order fit together. When an order turns out to be over while a page is read, the page is
 * read anew by the next one; a list that changes faster than that is shown as it was found. Called by
 * catalogue.ts.
 */
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { type PackPage, selectPackPage } from '../packs/packs.ts';
import type { CachedList, Snapshots } from '../shared/cache.ts';
import {
  buildIdList,
  type IndexBotRow,
  type IndexServerRow,
  selectIndexBots,
  selectIndexServers,
} from '../shared/index-rows.ts';
import { createListOrders, type ListOrder } from './list-order.ts';
import type { ListName } from './list-segments.ts';

export interface Lists {
  readBots(page: number): Promise<CachedList<readonly IndexBotRow[]>>;
  readServers(page: number): Promise<CachedList<readonly IndexServerRow[]>>;
  readPacks(page: number): Promise<CachedList<PackPage>>;
  /** Listed bots drawn at random, another choice each call, each as likely as any other. */
  readRandomBots(wanted: number): Promise<readonly IndexBotRow[]>;
}

const ordersTriedMax = 3;

export const createLists = (sql: Sql, snapshots: Snapshots, bound: { readonly ageMaxMs: number }): Lists => {
  const orders = createListOrders(sql, bound);
  const readAnew = async <Rows>(wanted: PageRequest<Rows>, page: number): Promise<CachedList<Rows>> => {
    const { list, rowsPerPage, fill } = wanted;
    for (let tried = 1; ; tried++) {
      const order = await asStorage(`lists.${list}`, () => orders.read(list));
      const listing = await snapshots.get(`${list} ${order.serial} ${page}`, () =>
        asStorage(`lists.${list}.page`, () => readPage(order, { page, rowsPerPage, fill })),
      );
      if (!order.isOver() || tried === ordersTriedMax) return listing;
    }
  };
  const pageOf = <Rows>(wanted: PageRequest<Rows>, page: number): Promise<CachedList<Rows>> =>
    snapshots.show(`${wanted.list} ${page}`, () => readAnew(wanted, page));
  const bots = { list: 'bots', rowsPerPage: perPage.bots } as const;
  const servers = { list: 'servers', rowsPerPage: perPage.servers } as const;
  const packs = { list: 'packs', rowsPerPage: perPage.packs } as const;
  return {
    readBots: (page) => pageOf({ ...bots, fill: (ids) => selectIndexBots(sql, buildIdList(sql, ids)) }, page),
    readServers: (page) =>
      pageOf({ ...servers, fill: (ids) => selectIndexServers(sql, buildIdList(sql, ids)) }, page),
    readPacks: (page) => pageOf({ ...packs, fill: (ids) => selectPackPage(sql, ids) }, page),
    readRandomBots: (wanted) =>
      asStorage('lists.bots.random', async () => {
        const order = await orders.read('bots');
        return selectIndexBots(sql, buildIdList(sql, await order.readRandomIds(wanted)));
      }),
  };
};

interface PageRequest<Rows> {
  readonly list: ListName;
  readonly rowsPerPage: number;
  readonly fill: (ids: readonly string[]) => PromiseLike<Rows>;
}

const readPage = async <Rows>(
  order: ListOrder,
  { page, rowsPerPage, fill }: Omit<PageRequest<Rows>, 'list'> & { readonly page: number },
): Promise<CachedList<Rows>> => {
  const ids = await order.readIds(computeOffset(page, rowsPerPage), rowsPerPage);
  return { count: order.count, rows: await fill(ids) };
};
