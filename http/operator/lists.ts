/**
 * Replies with the operator's lists: a page of rows with the total and the number of the next page.
 */
import type { TObject, TSchema } from 'typebox';
import { foldTargetId } from '../../engine/ids.ts';
import type { ListPage } from '../../storage/catalogue/operator/pages.ts';
import { parsePage } from '../api/shared/convert.ts';
import type { App } from '../app.ts';
import { createValidationError } from '../response/errors.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import type { RoutePattern, RouteRequest } from '../route.ts';
import type { SearchQuery, VotesQuery } from './list-schema.ts';
import { type AdminOperation, defineOperation, type OperationDefinition } from './operation.ts';

export const rowsPerPage = 50;

/** Replies with a list that is short enough to be shown whole; `name` is the member that has the rows. */
export const replyWhole = (name: string, rows: readonly unknown[]): Reply =>
  replyOk({ [name]: rows, total: rows.length, total_is: 'exact', next_page: null });

/** A page of a list, or all rows of a short one. */
type Found = ListPage<object> | readonly object[];

type ListDefinition<P extends TObject, Q extends TObject> = Omit<
  OperationDefinition<P, Q, TSchema>,
  'replies' | 'handle'
> & {
  /** Names the fields of the rows that are shown (`buildList`). */
  readonly list: TObject;
  readonly read: (app: App, request: RouteRequest<P, Q, TSchema>, page: number) => Promise<Found>;
};

/** An operation that replies with a list; times become text. */
export const defineList = <P extends TObject, Q extends TObject>(
  command: string,
  pattern: RoutePattern,
  { list, read, ...definition }: ListDefinition<P, Q>,
): AdminOperation => {
  const [name, { items }] = Object.entries(list.properties)[0] as [string, { readonly items: TObject }];
  const showItem = (row: object) => showRow(items, row as Readonly<Record<string, unknown>>);
  const handle = async (app: App, request: RouteRequest<P, Q, TSchema>): Promise<Reply> => {
    const page = parsePage(request.query);
    const found = await read(app, request, page);
    if (!('rows' in found)) return replyWhole(name, found.map(showItem));
    const { rows, total, totalIs, rowsMax = rowsPerPage } = found;
    const isLast = rows.length < rowsMax || (totalIs === 'exact' && page * rowsMax >= total);
    const next_page = isLast ? null : page + 1;
    return replyOk({ [name]: rows.map(showItem), total, total_is: totalIs, next_page });
  };
  return defineOperation<P, Q, TSchema>(command, pattern, { ...definition, replies: { 200: list }, handle });
};

/** The fields that all lists with a search have. */
export const toRequest = (query: SearchQuery) => ({ page: parsePage(query), search: query.search ?? '' });

/** Throws when only one of the two fields that name a listing is given. */
export const assertWholeListing = ({ target_type, target_id }: VotesQuery): void => {
  if ((target_type === undefined) === (target_id === undefined)) return;
  const missing = target_type === undefined ? '/target_type' : '/target_id';
  throw createValidationError('query', { [missing]: 'is needed with the other field of the listing' });
};

const dayMs = 86_400_000;

/** Votes of all listings and users are those of a day, unless `since` says otherwise. */
export const readVotes = (app: App, query: VotesQuery, page: number) => {
  const { target_type: kind, target_id, user, before } = query;
  const endMs = before === undefined ? app.clock.nowMs() : Date.parse(before);
  const isWhole = target_id === undefined && user === undefined;
  const { since = isWhole ? new Date(endMs - dayMs).toISOString() : undefined } = query;
  const id = kind && target_id ? foldTargetId(kind, target_id) : undefined;
  return app.catalogue.operator.votes.list({ kind, id, user, since, before }, page);
};
