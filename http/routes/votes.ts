/**
 * Routes of votes (contract §4.5): cast a vote, a user's vote status and history, an entity's voters.
 */
import type { Static } from 'typebox';
import { perPage } from '../../engine/rules/pages.ts';
import { parsePage, requireCaller, toTarget } from '../handlers/request-values.ts';
import { castVote, showVoters, showVoteStatus, showVotes } from '../handlers/votes.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { buildPageSchema, PageQuery } from '../schema/common.ts';
import {
  TargetVotesParams,
  UserVotesParams,
  Vote,
  VoteQuery,
  VoterList,
  VoteStatusReply,
} from '../schema/votes.ts';

const toUserTarget = (params: Static<typeof UserVotesParams>) => ({ ...toTarget(params), user: params.uid });

export const voteRoutes = defineRoutes('Votes', [
  defineRoute({
    name: 'castVote',
    pattern: 'PUT /users/{uid}/{target_type}/{target_id}/votes',
    summary: 'Vote',
    description:
      'Casts an upvote or a downvote. The reply is sent when the vote is on disk. One request per ' +
      'wait is accepted, however many are sent; the others get 429 `vote_wait`, which says how long ' +
      'to wait.',
    auth: { kind: 'self', user: 'uid' },
    params: UserVotesParams,
    query: VoteQuery,
    replies: { 204: null },
    errors: ['not_found', 'vote_banned', 'entity_vote_banned', 'not_votable', 'vote_wait'],
    handle: (app, request) => {
      const vote = { ...toUserTarget(request.params), upvote: request.query.upvote === 'true' };
      return castVote(app, vote, requireCaller(request).voteBanned);
    },
  }),
  defineRoute({
    name: 'getStanding',
    pattern: 'GET /users/{uid}/{target_type}/{target_id}/votes',
    summary: 'Check a vote',
    description:
      "A user's valid votes on an entity, and how long they must wait before the next one. Reward " +
      'voters while `has_voted` is true.',
    auth: { kind: 'public' },
    params: UserVotesParams,
    replies: { 200: VoteStatusReply },
    errors: ['not_found'],
    handle: (app, { params }) => showVoteStatus(app, toUserTarget(params)),
  }),
  defineRoute({
    name: 'listUserVotes',
    pattern: 'GET /users/{uid}/{target_type}/{target_id}/votes/@all',
    summary: "List a user's votes",
    description: 'All votes of a user on an entity, void ones too, newest first, 10 per page.',
    auth: { kind: 'public' },
    params: UserVotesParams,
    query: PageQuery,
    replies: { 200: buildPageSchema(Vote, perPage.userVotes) },
    errors: ['page_invalid', 'not_found'],
    handle: (app, { params, query }) => showVotes(app, toUserTarget(params), parsePage(query)),
  }),
  defineRoute({
    name: 'listVoters',
    pattern: 'GET /{target_type}/{target_id}/votes/user-list',
    summary: 'List voters',
    description: 'The ids of all users with a valid vote, newest first; with `page`, 100 ids per page.',
    auth: { kind: 'public' },
    params: TargetVotesParams,
    query: PageQuery,
    replies: { 200: VoterList },
    errors: ['page_invalid', 'not_found'],
    handle: (app, { params, query }) =>
      showVoters(app, toTarget(params), query.page === undefined ? null : parsePage(query)),
  }),
]);
