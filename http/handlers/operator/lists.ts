/**
 * Replies with the operator's lists: a page of rows with the total and the number of the next page.
 */
import type { ListPage } from '../../../storage/catalogue/operator/pages.ts';
import { type App, type Reply, replyOk } from '../../route.ts';
import type {
  ListBotsQuery,
  ListServersQuery,
  SearchQuery,
  UsersQuery,
} from '../../schema/operator-lists.ts';
import { toTimestamp } from '../convert.ts';
import { parsePage } from '../request-values.ts';

const rowsPerPage = 50;

/** `name` is the member of the reply that has the rows. */
export const replyPage = (name: string, { rows, total, totalIs }: ListPage<object>, page: number): Reply => {
  const isLast = rows.length < rowsPerPage || (totalIs === 'exact' && page * rowsPerPage >= total);
  return replyOk({ [name]: rows, total, total_is: totalIs, next_page: isLast ? null : page + 1 });
};

/** Replies with a list that is short enough to be shown whole. */
export const replyWhole = (name: string, rows: readonly unknown[]): Reply =>
  replyOk({ [name]: rows, total: rows.length, total_is: 'exact', next_page: null });

const withTimestamps = <Row extends { readonly created_at: Date }>(list: ListPage<Row>) => ({
  ...list,
  rows: list.rows.map((row) => ({ ...row, created_at: toTimestamp(row.created_at) })),
});

const toRequest = (query: SearchQuery) => ({ page: parsePage(query), search: query.search ?? '' });

export const showUsers = async (app: App, query: UsersQuery): Promise<Reply> => {
  const request = { ...toRequest(query), ban: query.ban ?? null };
  return replyPage('users', withTimestamps(await app.catalogue.operator.lists.users(request)), request.page);
};

/** Without a type and a search: the bots that wait for a review. */
export const showBots = async (app: App, query: ListBotsQuery): Promise<Reply> => {
  const request = toRequest(query);
  const type = query.type ?? (request.search === '' ? 'pending' : null);
  const list = await app.catalogue.operator.lists.bots({ ...request, type });
  return replyPage('bots', withTimestamps(list), request.page);
};

export const showServers = async (app: App, query: ListServersQuery): Promise<Reply> => {
  const request = { ...toRequest(query), type: query.type ?? null };
  return replyPage(
    'servers',
    withTimestamps(await app.catalogue.operator.lists.servers(request)),
    request.page,
  );
};

export const showTeams = async (app: App, query: SearchQuery): Promise<Reply> => {
  const request = toRequest(query);
  return replyPage('teams', withTimestamps(await app.catalogue.operator.lists.teams(request)), request.page);
};

export const showPacks = async (app: App, query: SearchQuery): Promise<Reply> => {
  const request = toRequest(query);
  return replyPage('packs', withTimestamps(await app.catalogue.operator.lists.packs(request)), request.page);
};
