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
  const pagesPastEnd = new Map<ListName, number>();
  const readFromOrder = async <Rows>(request: PageRequest<Rows>, page: number): Promise<CachedList<Rows>> => {
    const { list, rowsPerPage, fill } = request;
    for (let tried = 1; ; tried++) {
      const order = await asStorage(`lists.${list}`, () => orders.read(list));
      // All pages past the end are one.
      const pastEnd = Math.ceil(order.count / rowsPerPage) + 1;
      pagesPastEnd.set(list, pastEnd);
      const shown = Math.min(page, pastEnd);
      const listing = await snapshots.get(`${list} ${order.serial} ${shown}`, () =>
        asStorage(`lists.${list}.page`, () => readPage(order, { page: shown, rowsPerPage, fill })),
      );
      if (!order.isOver() || tried === ordersTriedMax) return listing;
    }
  };
  const readListPage = <Rows>(request: PageRequest<Rows>, page: number): Promise<CachedList<Rows>> =>
    // The copies for times without SQL are few: pages past the end must not take their place.
    page > (pagesPastEnd.get(request.list) ?? page)
      ? readFromOrder(request, page)
      : snapshots.show(`${request.list} ${page}`, () => readFromOrder(request, page));
  const bots = { list: 'bots', rowsPerPage: perPage.bots } as const;
  const servers = { list: 'servers', rowsPerPage: perPage.servers } as const;
  const packs = { list: 'packs', rowsPerPage: perPage.packs } as const;
  return {
    readBots: (page: number) =>
      readListPage({ ...bots, fill: (ids) => selectIndexBots(sql, buildIdList(sql, ids)) }, page),
    readServers: (page: number) =>
      readListPage({ ...servers, fill: (ids) => selectIndexServers(sql, buildIdList(sql, ids)) }, page),
    readPacks: (page: number) => readListPage({ ...packs, fill: (ids) => selectPackPage(sql, ids) }, page),
    /** Reads random listed bots, all equally likely; another choice on each call. */
    readRandomBots: (rowsMax: number) =>
      asStorage('lists.bots.random', async () => {
        const order = await orders.read('bots');
        return selectIndexBots(sql, buildIdList(sql, await order.readRandomIds(rowsMax)));
      }),
  };
};
export type Lists = ReturnType<typeof createLists>;

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
