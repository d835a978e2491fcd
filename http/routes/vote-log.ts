/**
 * Route of the vote log: the accepted votes of a listing in order, for programs that react to votes.
 */
import { toTarget } from '../handlers/request-values.ts';
import { showVoteLog } from '../handlers/vote-log.ts';
import { type AnyRoute, type Auth, defineRoute } from '../route.ts';
import { VoteLogQuery, VoteLogReply } from '../schema/vote-log.ts';
import { TargetVotesParams } from '../schema/votes.ts';

/** Who reads the log when the operator closes it to the public. */
const ownersOnly: Auth = {
  kind: 'entity',
  kinds: ['user', 'bot', 'server', 'team'],
  permission: 'view_webhook_logs',
  type: 'target_type',
  id: 'target_id',
};

/** Returns the routes with a vote log for everybody, or for owners only (setting VOTE_LOG). */
export const applyVoteLogSetting = (
  routes: readonly AnyRoute[],
  setting: 'public' | 'owner',
): readonly AnyRoute[] =>
  setting === 'public'
    ? routes
    : routes.map((route) => (voteLogRoutes.includes(route) ? { ...route, auth: ownersOnly } : route));

export const voteLogRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'readVoteLog',
    pattern: 'GET /{target_type}/{target_id}/votes/log',
    section: 'Beyond the contract',
    summary: 'Read the vote log',
    description:
      'The accepted votes of a listing after a cursor, oldest first; with `wait` the request waits ' +
      'for the next one. Numbers have no holes and never change: a client that continues from `next` ' +
      'sees every vote once. A cursor of a log that no longer exists gets 409 `log_restarted` with ' +
      '`oldest` and `head`.',
    auth: { kind: 'public' },
    limit: 'vote_log',
    longPoll: true,
    params: TargetVotesParams,
    query: VoteLogQuery,
    replies: { 200: VoteLogReply },
    errors: ['not_found', 'log_restarted'],
    handle: (app, request) => showVoteLog(app, toTarget(request.params), request),
  }),
];
