/**
 * Routes of the history of a listing: its numbers over time.
 */
import { showHistory, showVoteMonths } from '../handlers/history.ts';
import { toTarget } from '../handlers/request-values.ts';
import { type AnyRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  HistoryQuery,
  HistoryReply,
  HistoryTable,
  VoteMonthsQuery,
  VoteMonthsReply,
} from '../schema/history.ts';
import { TargetVotesParams } from '../schema/votes.ts';

export const historyRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  defineRoute({
    name: 'getHistory',
    pattern: 'GET /{target_type}/{target_id}/history',
    summary: 'Show numbers over time',
    description:
      'Each point has the value at its time. Where no sample ran, it is `null`. A range of more than 1,000 ' +
      'points gets 400 `range_too_long` with the step that fits.',
    auth: { kind: 'public' },
    limit: 'history',
    caching: 'list',
    params: TargetVotesParams,
    query: HistoryQuery,
    replies: { 200: HistoryReply },
    table: HistoryTable,
    errors: ['not_found', 'range_too_long'],
    handle: (app, request) => showHistory(app, toTarget(request.params), request),
  }),
  defineRoute({
    name: 'getVoteMonths',
    pattern: 'GET /{target_type}/{target_id}/votes/months',
    summary: 'List votes by month',
    description:
      'All votes that were cast in the month count, whatever became of them later. A month appears some ' +
      'minutes after its end, and a day later once more for late votes; months without votes are left out.',
    auth: { kind: 'public' },
    limit: 'history',
    caching: 'list',
    params: TargetVotesParams,
    query: VoteMonthsQuery,
    replies: { 200: VoteMonthsReply },
    errors: ['not_found'],
    handle: (app, { params, query }) => showVoteMonths(app, toTarget(params), query),
  }),
]);
