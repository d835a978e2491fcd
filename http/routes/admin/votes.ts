/**
 * Operations on past votes (docs/operating.md, "The operator's side"). The monthly reset is a job.
 */
import { resetListing, voidVote } from '../../replies/operator/votes.ts';
import { Done, ListingParams, ResetBody, VoteParams } from '../../schema/operator.ts';
import { type Operation, operation } from './operation.ts';

export const voteOperations: readonly Operation[] = [
  operation({
    command: 'votes void',
    name: 'voidVote',
    method: 'DELETE',
    path: '/votes/{itag}',
    summary: 'Makes one vote void; its user may vote again.',
    params: VoteParams,
    replies: { 200: Done },
    handle: (app, { params }) => voidVote(app, params.itag),
  }),
  operation({
    command: 'votes reset',
    name: 'resetVotes',
    method: 'POST',
    path: '/{target_type}/{target_id}/votes/reset',
    summary: 'Makes all votes of one listing void, but for immutable ones.',
    params: ListingParams,
    body: ResetBody,
    replies: { 200: Done },
    handle: (app, { params, body }) =>
      resetListing(app, { kind: params.target_type, id: params.target_id }, body),
  }),
];
