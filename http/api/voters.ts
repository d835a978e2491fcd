/**
 * Voters, which are beyond the contract: how often a user voted, and on how many days in a row.
 *
 * What counts is in docs/behaviour.md, "Voters". A read of one entity waits until the engine has flushed it,
 * so that the reply has every acknowledged vote.
 */
import { type Static, Type } from 'typebox';
import { perPage } from '../../engine/rules/pages.ts';
import { replyOk, showRow } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  buildCount,
  buildFlag,
  buildPageSchema,
  buildText,
  PageQuery,
  Timestamp,
  toNullable,
  UserId,
  UserTargetParams,
} from './shared/common.ts';
import { parsePage, toTarget } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { readFlushedRef } from './votes.ts';

const UserParams = Type.Object({ uid: UserId });

const summary = {
  times: buildCount(41, 'How often the user voted: requests, each once, up or down.'),
  streak: buildCount(7, 'Days (UTC) in a row with a vote, up to today or yesterday; else 0.'),
  longest: buildCount(12, 'The most days in a row so far.'),
  streak_ends_at: toNullable(
    Timestamp,
    'The streak ends then, unless the user votes before; `null` without a streak.',
  ),
  truncated: buildFlag('Whether there are 2,000 votes or more: older ones are not looked at.'),
};
export const VoterSummaryReply = buildObject(summary);

const ListingSummary = buildObject({
  target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
  target_id: buildText('815553000470478850', 'Id of the entity.'),
  voted_at: describe(Timestamp, "When the user's newest vote was cast."),
  ...summary,
});
export const ListingSummaries = buildPageSchema(ListingSummary, perPage.userVotes);
export type ListingSummaries = Static<typeof ListingSummaries>;

export const voterRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  definePublicRoute('getVoterSummary', 'GET /users/{uid}/{target_type}/{target_id}/votes/summary', {
    summary: 'Sum up the votes of a user on an entity',
    description:
      'How often the user voted, and on how many days in a row. The monthly reset and redeems change none ' +
      'of it; votes that the operator voided count nowhere.',
    limit: 'vote_log',
    params: UserTargetParams,
    replies: { 200: VoterSummaryReply },
    handle: async (app, { params }) => {
      const target = toTarget(params);
      const ref = await readFlushedRef(app, target.kind, target.id);
      const at = new Date(app.clock.nowMs());
      const row = await app.catalogue.voters.summary({ user: params.uid, ref }, at);
      return replyOk(showRow(VoterSummaryReply, row));
    },
  }),
  defineRoute('listVoterSummaries', 'GET /users/{uid}/votes/summary', {
    summary: 'Sum up the votes of a user on all entities',
    description:
      'The entities that the user voted on, 10 per page, those with the newest vote first; the first 1,000 ' +
      'by kind and id. Votes of the last second may be missing.',
    auth: { kind: 'self', user: 'uid' },
    limit: 'vote_log',
    params: UserParams,
    query: PageQuery,
    replies: { 200: ListingSummaries },
    handle: async (app, { params, query }) => {
      const options = { page: parsePage(query), at: new Date(app.clock.nowMs()) };
      const { count, rows } = await app.catalogue.voters.summaries(params.uid, options);
      const results = rows.map((row) => showRow(ListingSummary, row));
      return replyOk<ListingSummaries>({ count, per_page: perPage.userVotes, results });
    },
  }),
]);
