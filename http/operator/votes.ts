/**
 * Operations on past votes (docs/operators/commands.md). A job makes the
 * monthly reset; here an operator starts it by hand.
 */
import { toTarget } from '../api/shared/convert.ts';
import { PageOnlyQuery, VoteList, VotesQuery } from './list-schema.ts';
import { assertWholeListing, defineList, readVotes } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { PlanBody, PlanList, PlanParams, ShownPlan, SkippedList } from './plan-schema.ts';
import { previewReset, previewResetAll, previewVoid } from './previews.ts';
import { ListingParams, ResetAllBody, ResetBody, VoteParams } from './schema.ts';
import {
  HoursQuery,
  readSuspects,
  SuspectList,
  SuspectsQuery,
  showVoteHours,
  VoteHours,
} from './suspects.ts';
import {
  describePlan,
  planVotes,
  previewUndo,
  readPlans,
  readSkipped,
  restorePlan,
  showPlanNow,
  voidPlan,
} from './void-plans.ts';
import { resetAll, resetListing, voidVote } from './vote-edits.ts';

export const voteOperations: readonly AdminOperation[] = [
  defineList('votes list', 'GET /votes', {
    summary: 'Lists votes, void ones too, newest first: of a listing, a user or a time; else of a day.',
    query: VotesQuery,
    check: ({ query }) => assertWholeListing(query),
    list: VoteList,
    read: (app, { query }, page) => readVotes(app, query, page),
  }),
  defineList('votes suspects', 'GET /votes/suspects', {
    summary: 'Lists what looks wrong about votes and page views, with the reason, newest first.',
    query: SuspectsQuery,
    check: ({ query }) => assertWholeListing(query),
    list: SuspectList,
    read: (app, { query }, page) => readSuspects(app, query, page),
  }),
  defineOperation('votes hours', 'GET /votes/hours', {
    summary: 'Counts the votes of each hour of two weeks: all, or those of a listing.',
    query: HoursQuery,
    check: ({ query }) => assertWholeListing(query),
    replies: { 200: VoteHours },
    handle: (app, { query }) => showVoteHours(app, query),
  }),
  defineOperation('votes void', 'DELETE /votes/{itag}', {
    summary: 'Voids one vote; its user may vote again, unless another of the same request still counts.',
    params: VoteParams,
    preview: (app, { params }) => previewVoid(app, params.itag),
    handle: (app, { params }) => voidVote(app, params.itag),
  }),
  defineOperation('votes void-many', 'POST /votes/void', {
    summary: 'Voids the votes that a query finds: first shows them as a plan, then voids exactly those.',
    body: PlanBody,
    replies: { 200: ShownPlan },
    preview: (app, { body, operator }) => planVotes(app, body, operator),
    describe: (app, { body: { plan } }) => (plan === undefined ? {} : describePlan(app, plan)),
    handle: (app, { body }) => voidPlan(app, body),
  }),
  defineOperation('votes undo', 'POST /votes/void/{plan}/undo', {
    summary: 'Makes the votes that a plan voided count again, within 30 days.',
    params: PlanParams,
    replies: { 200: ShownPlan },
    preview: (app, { params }) => previewUndo(app, params.plan),
    describe: (app, { params }) => describePlan(app, params.plan),
    handle: (app, { params }) => restorePlan(app, params.plan),
  }),
  defineList('votes plans', 'GET /votes/void', {
    summary: 'Lists the plans, newest first.',
    query: PageOnlyQuery,
    list: PlanList,
    read: (app, _, page) => readPlans(app, page),
  }),
  defineOperation('votes plan', 'GET /votes/void/{plan}', {
    summary: 'Shows a plan: what it holds, and how far it is.',
    params: PlanParams,
    replies: { 200: ShownPlan },
    handle: (app, { params }) => showPlanNow(app, params.plan),
  }),
  defineList('votes left-out', 'GET /votes/void/{plan}/left-out', {
    summary: 'Names the votes of a plan that its newest step left as they were, and says why.',
    params: PlanParams,
    query: PageOnlyQuery,
    list: SkippedList,
    read: (app, { params }, page) => readSkipped(app, params.plan, page),
  }),
  defineOperation('votes reset', 'POST /{target_type}/{target_id}/votes/reset', {
    summary: 'Voids the votes of one listing, except immutable ones; their users may vote again.',
    params: ListingParams,
    body: ResetBody,
    preview: (app, { params, body }) => previewReset(app, toTarget(params), body),
    handle: (app, { params, body }) => resetListing(app, toTarget(params), body),
  }),
  defineOperation('votes reset-all', 'POST /votes/reset-all', {
    summary: 'Starts the monthly reset by hand: voids the votes of all listings, except immutable ones.',
    callsOutbound: true,
    body: ResetAllBody,
    preview: (app, { body }) => previewResetAll(app, body),
    handle: (app, { body }) => resetAll(app, body),
  }),
];
