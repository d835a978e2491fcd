/**
 * Replies with the operator's lists: a page of rows with the total and the number of the next page.
 */
import type { TObject } from 'typebox';
import { foldTargetId } from '../../engine/ids.ts';
import type { ListPage } from '../../storage/catalogue/operator/pages.ts';
import { parsePage } from '../api/shared/convert.ts';
import type { App } from '../app.ts';
import { createValidationError } from '../response/errors.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import { type SearchQuery, VoteList, type VotesQuery } from './list-schema.ts';

export const rowsPerPage = 50;

/** Replies with a list that is short enough to be shown whole; `name` is the member that has the rows. */
export const replyWhole = (name: string, rows: readonly unknown[]): Reply =>
  replyOk({ [name]: rows, total: rows.length, total_is: 'exact', next_page: null });

/** Replies with one page of a list: the fields that its schema (`buildList`) names; times become text. */
export const replyListPage = (list: TObject, found: ListPage<object>, page: number): Reply => {
  const [name, { items }] = Object.entries(list.properties)[0] as [string, { readonly items: TObject }];
  const { rows, total, totalIs, rowsMax = rowsPerPage } = found;
  const shown = rows.map((row) => showRow(items, row as Readonly<Record<string, unknown>>));
  const isLast = rows.length < rowsMax || (totalIs === 'exact' && page * rowsMax >= total);
  return replyOk({ [name]: shown, total, total_is: totalIs, next_page: isLast ? null : page + 1 });
};

/** Replies with a list that is short enough to be shown whole, with the fields of its schema. */
export const replyList = (list: TObject, rows: readonly object[]): Reply =>
  replyListPage(list, { rows, total: rows.length, totalIs: 'exact', rowsMax: Number.POSITIVE_INFINITY }, 1);

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
export const showVotes = async (app: App, query: VotesQuery): Promise<Reply> => {
  const { target_type: kind, target_id, user, before } = query;
  const endMs = before === undefined ? app.clock.nowMs() : Date.parse(before);
  const isWhole = target_id === undefined && user === undefined;
  const { since = isWhole ? new Date(endMs - dayMs).toISOString() : undefined } = query;
  const id = kind && target_id ? foldTargetId(kind, target_id) : undefined;
  const page = parsePage(query);
  const list = await app.catalogue.operator.votes.list({ kind, id, user, since, before }, page);
  return replyListPage(VoteList, list, page);
};
