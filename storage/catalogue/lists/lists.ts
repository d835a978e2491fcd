/**
 * Pages of the long lists: ids from the current order, with their rows, cached as snapshots.
 *
 * Pages of one order fit together. If an order turns out to be over while a page is read, the page is read
 * again from the next order, a few times at most; a list that changes faster is shown as it was read. Called
 * by catalogue.ts.
 */
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { selectPackPage } from '../packs/packs.ts';
import type { CachedList, Snapshots } from '../shared/cache.ts';
import { buildIdList, selectIndexBots, selectIndexServers } from '../shared/index-rows.ts';
import { createListOrders, type ListOrder } from './list-order.ts';
import type { ListName } from './list-segments.ts';

const ordersTriedMax = 3;

/** Creates the lists; `ageMaxMs` is the maximum age of an order. */
export const createLists = (sql: Sql, snapshots: Snapshots, bound: { readonly ageMaxMs: number }) => {
  const orders = createListOrders(sql, bound);
  /** Creates the reader of a list's pages, which count from 1. `fill` reads the rows with these ids. */
  const createReader = <Rows>(list: ListName, fill: (ids: readonly string[]) => PromiseLike<Rows>) => {
    const rowsPerPage = perPage[list];
    let pagePastEnd = Number.POSITIVE_INFINITY;
    const readPage = async (order: ListOrder, page: number): Promise<CachedList<Rows>> => {
      const ids = await order.readIds(computeOffset(page, rowsPerPage), rowsPerPage);
      return { count: order.count, rows: await fill(ids) };
    };
    const readFromOrder = async (page: number): Promise<CachedList<Rows>> => {
      for (let tried = 1; ; tried++) {
        const order = await asStorage(`lists.${list}`, () => orders.read(list));
        // All pages past the end are one.
        pagePastEnd = Math.ceil(order.count / rowsPerPage) + 1;
        const shown = Math.min(page, pagePastEnd);
        const listing = await snapshots.get(`${list} ${order.serial} ${shown}`, () =>
          asStorage(`lists.${list}.page`, () => readPage(order, shown)),
        );
        if (!order.isOver() || tried === ordersTriedMax) return listing;
      }
    };
    return (page: number): Promise<CachedList<Rows>> =>
      // The copies for times without SQL are few: pages past the end must not take their place.
      page > pagePastEnd ? readFromOrder(page) : snapshots.show(`${list} ${page}`, () => readFromOrder(page));
  };
  return {
    readBots: createReader('bots', (ids) => selectIndexBots(sql, buildIdList(sql, ids))),
    readServers: createReader('servers', (ids) => selectIndexServers(sql, buildIdList(sql, ids))),
    readPacks: createReader('packs', (ids) => selectPackPage(sql, ids)),
    /** Reads random listed bots, all equally likely; another choice on each call. */
    readRandomBots: (rowsMax: number) =>
      asStorage('lists.bots.random', async () => {
        const order = await orders.read('bots');
        return selectIndexBots(sql, buildIdList(sql, await order.readRandomIds(rowsMax)));
      }),
  };
};
export type Lists = ReturnType<typeof createLists>;
