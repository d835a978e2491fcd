/**
 * Rows of votes (contract §4.5): casting one, a user's standing and history, an entity's voters.
 */
import { entityKinds } from '../../engine/ids.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { parsePage, parseTargetKind, requireCaller } from '../handlers/request-values.ts';
import { castVote, showVoters, showVoteStatus, showVotes } from '../handlers/votes.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { PageQuery, buildPageSchema as pageSchema } from '../schema/common.ts';
import {
  TargetVotesParams,
  UserVotesParams,
  Vote,
  VoteQuery,
  VoterList,
  VoteStatusReply,
  voteExample,
} from '../schema/votes.ts';

const section = 'Votes';

interface UserVotesPath {
  readonly uid: string;
  readonly target_type: string;
  readonly target_id: string;
}
/** A pack's url is the same in upper and lower case, as in `GET /packs/{id}`. */
const parseTarget = (params: { readonly target_type: string; readonly target_id: string }) => {
  const kind = parseTargetKind(params.target_type, entityKinds);
  return { kind, id: kind === 'pack' ? params.target_id.toLowerCase() : params.target_id };
};
const parseUserTarget = (params: UserVotesPath) => ({ ...parseTarget(params), user: params.uid });

export const voteRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'castVote',
    method: 'PUT',
    path: '/users/{uid}/{target_type}/{target_id}/votes',
    section,
    summary: 'Votes up or down.',
    description: 'Acknowledged when the hot store has confirmed it: one request per window is accepted.',
    auth: { kind: 'self', user: 'uid' },
    caching: 'no-store',
    params: UserVotesParams,
    query: VoteQuery,
    replies: { 204: null },
    errors: [
      'target_type_unsupported',
      'not_found',
      'vote_banned',
      'entity_vote_banned',
      'not_votable',
      'vote_wait',
    ],
    check: ({ params }) => void parseTarget(params),
    handle: (app, request) => {
      const vote = { ...parseUserTarget(request.params), upvote: request.query.upvote === 'true' };
      return castVote(app, vote, requireCaller(request).voteBanned);
    },
  }),
  defineRoute({
    name: 'getStanding',
    method: 'GET',
    path: '/users/{uid}/{target_type}/{target_id}/votes',
    section,
    summary: "A user's valid votes on an entity, and when he may vote again.",
    auth: { kind: 'public' },
    caching: 'no-store',
    params: UserVotesParams,
    replies: { 200: VoteStatusReply },
    errors: ['target_type_unsupported', 'not_found'],
    handle: (app, { params }) => showVoteStatus(app, parseUserTarget(params)),
  }),
  defineRoute({
    name: 'listUserVotes',
    method: 'GET',
    path: '/users/{uid}/{target_type}/{target_id}/votes/@all',
    section,
    summary: 'All votes of a user on an entity, void ones too, newest first.',
    auth: { kind: 'public' },
    caching: 'no-store',
    params: UserVotesParams,
    query: PageQuery,
    replies: { 200: pageSchema(Vote, perPage.userVotes, voteExample) },
    errors: ['target_type_unsupported', 'page_invalid', 'not_found'],
    handle: (app, { params, query }) => showVotes(app, parseUserTarget(params), parsePage(query)),
  }),
  defineRoute({
    name: 'listVoters',
    method: 'GET',
    path: '/{target_type}/{target_id}/votes/user-list',
    section,
    summary: 'Ids of all users with a valid vote, newest first; with `page` 100 of them.',
    auth: { kind: 'public' },
    caching: 'no-store',
    params: TargetVotesParams,
    query: PageQuery,
    replies: { 200: VoterList },
    errors: ['target_type_unsupported', 'page_invalid', 'not_found'],
    handle: (app, { params, query }) =>
      showVoters(app, parseTarget(params), query.page === undefined ? null : parsePage(query)),
  }),
];
