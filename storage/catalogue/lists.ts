/**
 * Pages of the long lists: ids from the order in force, rows filled in, kept as long as a snapshot.
 *
 * Pages of one order fit together. When an order turns out to be over while a page is read, the page is
 * read anew by the next one; a list that changes faster than that is shown as it was found. Called by
 * catalogue.ts.
 */
import { offsetOf, perPage } from '../../engine/rules/pages.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import type { Listing, Snapshots } from './cache.ts';
import { type IndexBotRow, type IndexServerRow, indexBots, indexServers, wantedIds } from './index-rows.ts';
import { createListOrders, type ListOrder } from './list-order.ts';
import type { ListName } from './list-segments.ts';
import { type PackPage, pagePacks } from './packs.ts';

export interface Lists {
  bots(page: number): Promise<Listing<readonly IndexBotRow[]>>;
  servers(page: number): Promise<Listing<readonly IndexServerRow[]>>;
  packs(page: number): Promise<Listing<PackPage>>;
  /** Listed bots drawn at random, another choice each call, each as likely as any other. */
  randomBots(wanted: number): Promise<readonly IndexBotRow[]>;
}

const ordersTriedMax = 3;

export const createLists = (sql: Sql, snapshots: Snapshots, bound: { readonly ageMaxMs: number }): Lists => {
  const orders = createListOrders(sql, bound);
  const readAnew = async <Rows>(wanted: Wanted<Rows>, page: number): Promise<Listing<Rows>> => {
    const { list, rowsPerPage, fill } = wanted;
    for (let tried = 1; ; tried++) {
      const order = await asStorage(`lists.${list}`, () => orders.order(list));
      const listing = await snapshots.get(`${list} ${order.serial} ${page}`, () =>
        asStorage(`lists.${list}.page`, () => readPage(order, { page, rowsPerPage, fill })),
      );
      if (!order.isOver() || tried === ordersTriedMax) return listing;
    }
  };
  const pageOf = <Rows>(wanted: Wanted<Rows>, page: number): Promise<Listing<Rows>> =>
    snapshots.show(`${wanted.list} ${page}`, () => readAnew(wanted, page));
  const bots = { list: 'bots', rowsPerPage: perPage.bots } as const;
  const servers = { list: 'servers', rowsPerPage: perPage.servers } as const;
  const packs = { list: 'packs', rowsPerPage: perPage.packs } as const;
  return {
    bots: (page) => pageOf({ ...bots, fill: (ids) => indexBots(sql, wantedIds(sql, ids)) }, page),
    servers: (page) => pageOf({ ...servers, fill: (ids) => indexServers(sql, wantedIds(sql, ids)) }, page),
    packs: (page) => pageOf({ ...packs, fill: (ids) => pagePacks(sql, ids) }, page),
    randomBots: (wanted) =>
      asStorage('lists.bots.random', async () => {
        const order = await orders.order('bots');
        return indexBots(sql, wantedIds(sql, await order.random(wanted)));
      }),
  };
};

interface Wanted<Rows> {
  readonly list: ListName;
  readonly rowsPerPage: number;
  readonly fill: (ids: readonly string[]) => PromiseLike<Rows>;
}

const readPage = async <Rows>(
  order: ListOrder,
  { page, rowsPerPage, fill }: Omit<Wanted<Rows>, 'list'> & { readonly page: number },
): Promise<Listing<Rows>> => {
  const ids = await order.ids(offsetOf(page, rowsPerPage), rowsPerPage);
  return { count: order.count, rows: await fill(ids) };
};
