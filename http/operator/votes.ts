/**
 * Operations on past votes (docs/operating.md, "The operator's side"). A job makes the
 * monthly reset; here an operator starts it by hand.
 */
import { VoteList, VotesQuery } from './list-schema.ts';
import { assertWholeListing, showVotes } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { previewReset, previewResetAll, previewVoid } from './previews.ts';
import { ListingParams, ResetAllBody, ResetBody, VoteParams } from './schema.ts';
import { resetAll, resetListing, voidVote } from './vote-edits.ts';

export const voteOperations: readonly AdminOperation[] = [
  defineOperation('votes list', 'GET /votes', {
    name: 'listVotesOf',
    summary: 'Lists votes, void ones too, newest first: of a listing, a user or a time; else of a day.',
    query: VotesQuery,
    check: ({ query }) => assertWholeListing(query),
    replies: { 200: VoteList },
    handle: (app, { query }) => showVotes(app, query),
  }),
  defineOperation('votes void', 'DELETE /votes/{itag}', {
    name: 'voidVote',
    summary: 'Voids one vote; its user may vote again.',
    params: VoteParams,
    preview: (app, { params }) => previewVoid(app, params.itag),
    handle: (app, { params }) => voidVote(app, params.itag),
  }),
  defineOperation('votes reset', 'POST /{target_type}/{target_id}/votes/reset', {
    name: 'resetVotes',
    summary: 'Voids the votes of one listing, except immutable ones; their users may vote again.',
    params: ListingParams,
    body: ResetBody,
    preview: (app, { params, body }) =>
      previewReset(app, { kind: params.target_type, id: params.target_id }, body),
    handle: (app, { params, body }) =>
      resetListing(app, { kind: params.target_type, id: params.target_id }, body),
  }),
  defineOperation('votes reset-all', 'POST /votes/reset-all', {
    name: 'resetAllVotes',
    summary: 'Starts the monthly reset by hand: voids the votes of all listings, except immutable ones.',
    callsOutbound: true,
    body: ResetAllBody,
    preview: (app, { body }) => previewResetAll(app, body),
    handle: (app, { body }) => resetAll(app, body),
  }),
];
