/**
 * Rows of votes (contract §4.5): casting one, a user's standing and history, an entity's voters.
 */
import { entityKinds } from '../../engine/ids.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { callerOf, pageOf, targetKindOf } from '../replies/request.ts';
import { castVote, showStanding, showVoters, showVotes } from '../replies/votes.ts';
import { type AnyRow, route } from '../route.ts';
import { PageQuery, pageOf as pageSchema } from '../schema/common.ts';
import {
  Standing,
  TargetVotesParams,
  UserVotesParams,
  Vote,
  VoteQuery,
  VoterList,
  voteExample,
} from '../schema/votes.ts';

const section = 'Votes';

interface UserVotesPath {
  readonly uid: string;
  readonly target_type: string;
  readonly target_id: string;
}
/** A pack's url is the same in upper and lower case, as in `GET /packs/{id}`. */
const targetOf = (params: { readonly target_type: string; readonly target_id: string }) => {
  const kind = targetKindOf(params.target_type, entityKinds);
  return { kind, id: kind === 'pack' ? params.target_id.toLowerCase() : params.target_id };
};
const pairOf = (params: UserVotesPath) => ({ ...targetOf(params), user: params.uid });

export const voteRows: readonly AnyRow[] = [
  route({
    name: 'castVote',
    method: 'PUT',
    path: '/users/{uid}/{target_type}/{target_id}/votes',
    section,
    summary: 'Votes up or down.',
    description: 'Acknowledged when the hot store has confirmed it: one request per window is accepted.',
    auth: { word: 'self', user: 'uid' },
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
    check: ({ params }) => void targetOf(params),
    handle: (app, request) => {
      const vote = { ...pairOf(request.params), upvote: request.query.upvote === 'true' };
      return castVote(app, vote, callerOf(request).voteBanned);
    },
  }),
  route({
    name: 'getStanding',
    method: 'GET',
    path: '/users/{uid}/{target_type}/{target_id}/votes',
    section,
    summary: "A user's valid votes on an entity, and when he may vote again.",
    auth: { word: 'public' },
    caching: 'no-store',
    params: UserVotesParams,
    replies: { 200: Standing },
    errors: ['target_type_unsupported', 'not_found'],
    handle: (app, { params }) => showStanding(app, pairOf(params)),
  }),
  route({
    name: 'listUserVotes',
    method: 'GET',
    path: '/users/{uid}/{target_type}/{target_id}/votes/@all',
    section,
    summary: 'All votes of a user on an entity, void ones too, newest first.',
    auth: { word: 'public' },
    caching: 'no-store',
    params: UserVotesParams,
    query: PageQuery,
    replies: { 200: pageSchema(Vote, perPage.userVotes, voteExample) },
    errors: ['target_type_unsupported', 'page_invalid', 'not_found'],
    handle: (app, { params, query }) => showVotes(app, pairOf(params), pageOf(query)),
  }),
  route({
    name: 'listVoters',
    method: 'GET',
    path: '/{target_type}/{target_id}/votes/user-list',
    section,
    summary: 'Ids of all users with a valid vote, newest first; with `page` 100 of them.',
    auth: { word: 'public' },
    caching: 'no-store',
    params: TargetVotesParams,
    query: PageQuery,
    replies: { 200: VoterList },
    errors: ['target_type_unsupported', 'page_invalid', 'not_found'],
    handle: (app, { params, query }) =>
      showVoters(app, targetOf(params), query.page === undefined ? null : pageOf(query)),
  }),
];
