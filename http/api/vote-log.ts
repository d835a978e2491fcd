/**
 * The vote log of a listing, which is beyond the contract: its accepted votes by number, from a cursor,
 * for programs that react to votes; waits for new ones on request.
 *
 * A cursor is `<epoch>.<number>` and opaque to clients. A cursor of another epoch, or beyond the newest
 * vote, belongs to a log that no longer exists: the reply says so instead of leaving out votes.
 */
import { type Static, Type } from 'typebox';
import type { Target } from '../../engine/ids.ts';
import type { App } from '../app.ts';
import { buildTargetAuth } from '../auth/auth.ts';
import { checkCursor, formatCursor } from '../feed/cursor.ts';
import { requireFound } from '../response/errors.ts';
import { replyOk, showRow } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute } from '../route.ts';
import { buildFlag, buildText, Text, Timestamp, Uuid, VoterFigures } from './shared/common.ts';
import { toTarget } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { closableVoterRoutes } from './voters.ts';
import { TargetVotesParams } from './votes.ts';

const limitDefault = 100;
const limitMax = 1_000;

export const VoteLogQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'A cursor of an earlier reply: votes after it follow. Without it the reply has no votes but `head`.',
      examples: ['0-1x.1042'],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limitMax, description: 'Most votes in the reply; 100 if absent.' }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 25,
      description: 'Seconds to wait for a vote when there is none yet; 0 if absent.',
    }),
  ),
  voter: Type.Optional(
    Type.Enum(['1'], {
      description: '`1`: each vote comes with `voter`, and a reply has at most 100 votes.',
      examples: ['1'],
    }),
  ),
});

export const LoggedVote = buildObject({
  number: Type.Integer({
    minimum: 1,
    description: 'Position in the log of this listing, without holes.',
    examples: [1_042],
  }),
  itag: describe(Uuid, 'Id of the vote.'),
  author: buildText('728871946456137770', 'Id of the user who voted.'),
  upvote: buildFlag('`true` for an upvote, `false` for a downvote.', true),
  created_at: describe(Timestamp, 'When the user voted.'),
  ref: buildText('newsletter-7', 'What the link that led to the vote said as `ref`; empty for nothing.'),
  void: Type.Boolean({ description: 'Whether the vote has been voided since.' }),
  void_reason: describe(Text, '`monthly_reset`, `operator`, `redeemed` or `deleted`; empty unless void.'),
  voter: Type.Optional(
    describe(
      VoterFigures,
      'With `voter=1`: what the user had done by this vote; later votes change nothing.',
    ),
  ),
});

export const VoteLogReply = buildObject({
  results: describe(Type.Array(LoggedVote), 'The votes after the cursor, oldest first.'),
  epoch: buildText('0-1x', 'Changes when the log begins again; part of every cursor.'),
  next: buildText('0-1x.1042', 'Send it as `after` to continue.'),
  head: buildText('0-1x.1042', 'Cursor of the newest vote.'),
  oldest: buildText('0-1x.0', 'Cursor before the first vote.'),
});
export type VoteLogReply = Static<typeof VoteLogReply>;

/** Who reads the log when the operator closes it to the public. */
const ownersOnly = buildTargetAuth('view_webhook_logs');

/** Whether the setting VOTE_LOG is about this route: the vote log, and others that show what it has. */
const isClosable = (route: AnyRoute): boolean =>
  voteLogRoutes.includes(route) || closableVoterRoutes.includes(route);

/** Returns the routes with a vote log for everybody, or for owners only (setting VOTE_LOG). */
export const applyVoteLogSetting = (
  routes: readonly AnyRoute[],
  setting: 'public' | 'owner',
): readonly AnyRoute[] =>
  setting === 'public'
    ? routes
    : routes.map((route) => (isClosable(route) ? { ...route, auth: ownersOnly } : route));

export const voteLogRoutes: readonly AnyRoute[] = [
  definePublicRoute('readVoteLog', 'GET /{target_type}/{target_id}/votes/log', {
    section: 'Beyond the contract',
    summary: 'Read the vote log',
    description:
      'The accepted votes of a listing after a cursor, oldest first; with `wait` the request waits ' +
      'for the next one. Numbers have no holes and never change: a client that continues from `next` ' +
      'sees every vote once. A cursor of a log that no longer exists gets 409 `log_restarted` with ' +
      '`oldest` and `head`.',
    limit: 'vote_log',
    longPoll: true,
    params: TargetVotesParams,
    query: VoteLogQuery,
    replies: { 200: VoteLogReply },
    errors: ['log_restarted'],
    // At the head it reads no page: clients that wait there are many.
    handle: async (app, { params, query, whenClientGone }) => {
      const { after, wait = 0 } = query;
      const hasVoter = query.voter !== undefined;
      const limit = Math.min(query.limit ?? limitDefault, hasVoter ? limitDefault : limitMax);
      const { ref, votesCast, head } = await readFlushedHead(app, toTarget(params));
      const number = after === undefined ? head.number : checkCursor(after, head);
      const isAtHead = number === head.number;
      if (isAtHead && wait > 0) {
        const waitMs = wait * 1_000;
        await app.voteLogWaiters.wait({ ref, number, votesCast, waitMs, whenClientGone });
      }
      const hasPage = !isAtHead || wait > 0;
      const rows = hasPage ? await app.catalogue.voteLog.page({ ref, after: number, limit, hasVoter }) : [];
      const next = rows.at(-1)?.number ?? number;
      return replyOk<VoteLogReply>({
        results: rows.map((row) => showRow(LoggedVote, { voter: undefined, ...row })),
        epoch: head.epoch,
        next: formatCursor(head.epoch, next),
        head: formatCursor(head.epoch, Math.max(head.number, next)),
        oldest: formatCursor(head.epoch, 0),
      });
    },
  }),
];

/** Everything acknowledged so far is in the log when this resolves. Throws `not_found`. */
export const readFlushedHead = async (app: App, target: Target) => {
  const { ref, state } = await app.engine.read(target.kind, target.id);
  const votesCast = state.upvotes + state.downvotes;
  await app.engine.waitForFlush(target.kind, target.id);
  const head = requireFound(await app.catalogue.voteLog.head(ref.incarnation), target.kind);
  return { ref, votesCast, head };
};
