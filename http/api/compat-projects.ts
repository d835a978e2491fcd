/**
 * `/api/v1/projects/@me`: what top.gg calls its API v1, for the bot of the token. The facts are those of its
 * documentation as of November 2026; docs/bots/libraries.md has them as a table.
 *
 * Served only with COMPAT=on. Errors are problem details (RFC 9457). What this directory cannot do is 501.
 */
import { STATUS_CODES } from 'node:http';
import { type Static, Type } from 'typebox';
import { type DomainError, errorStatuses } from '../../engine/errors.ts';
import type { EntityRef } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { LogRow } from '../../storage/catalogue/votes/vote-log.ts';
import type { App } from '../app.ts';
import { requireCaller } from '../auth/authorise.ts';
import { checkCursor, formatCursor } from '../feed/cursor.ts';
import { createNotFoundError, createValidationError, requireFound } from '../response/errors.ts';
import { noContent, type Reply, replyOk, toTimestamp } from '../response/reply.ts';
import { type AnyRoute, defineRoute, defineRoutes, type RoutePattern } from '../route.ts';
import { recordStats, statsBodyLimits } from './bots/stats.ts';
import { buildInputTime, UserId } from './shared/common.ts';
import { toUser } from './shared/convert.ts';
import { readFlushedHead } from './vote-log.ts';

export const projectsPath = '/api/v1/projects/';

const Amount = Type.Integer({ minimum: 0, maximum: limits.partNumberMax });
const Metrics = Type.Object({
  server_count: Type.Optional(Amount),
  shard_count: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.shardListEntriesMax })),
});

const VotesQuery = Type.Object({
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  startDate: Type.Optional(buildInputTime('Votes from then on.')),
});
const VoterParams = Type.Object({ user_id: UserId });
const VoterQuery = Type.Object({ source: Type.Optional(Type.Enum(['discord', 'topgg'])) });

const showProject = async (app: App, id: string): Promise<Reply> => {
  const profile = requireFound(await app.catalogue.bots.find(id), 'bot');
  const { ref, state } = await app.engine.read('bot', profile.id);
  const head = requireFound(await app.catalogue.voteLog.head(ref.incarnation), 'bot');
  return replyOk({
    id: profile.id,
    name: toUser(profile.person, { id: profile.id, bot: true }).username,
    platform: 'discord',
    type: 'bot',
    headline: profile.short,
    tags: profile.tags,
    votes: state.upvotes - state.downvotes,
    votes_total: head.number,
    review_score: 0,
    review_count: 0,
  });
};

/** *Hot* when it resolves. */
const recordMetrics = async (app: App, request: Parameters<AnyRoute['handle']>[1]): Promise<Reply> => {
  const { server_count: servers, shard_count: shards } = request.body as Static<typeof Metrics>;
  if (servers === undefined && shards === undefined)
    throw createValidationError('body', { '/server_count': 'must be the number of servers' });
  const body = { ...(servers !== undefined && { servers }), ...(shards !== undefined && { shards }) };
  await recordStats(app, { caller: request.caller, body, bodyText: '' });
  return noContent;
};

/** Rows of the log that are read for a page: votes of one request lie side by side. */
const rowsMax = 200;

const isSameRequest = (one: LogRow, other: LogRow): boolean =>
  one.author === other.author && one.created_at.getTime() === other.created_at.getTime();

/** The requests of these rows. The last one of a full page may go on, so that is left for the next page. */
const groupByRequest = (rows: readonly LogRow[]): readonly (readonly LogRow[])[] => {
  const groups: LogRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && isSameRequest(last[0], row)) last.push(row);
    else groups.push([row]);
  }
  return rows.length === rowsMax && groups.length > 1 ? groups.slice(0, -1) : groups;
};

/** Pages of the log that one reply passes over, where no vote in them counted. */
const passedMax = 10;

/** The requests after a number of the log that voted up and were not rejected, and where to go on. */
const readVotes = async (app: App, ref: EntityRef, after: number, passed = 0): Promise<VotesPage> => {
  const groups = groupByRequest(await app.catalogue.voteLog.page({ ref, after, limit: rowsMax }));
  const next = groups.at(-1)?.at(-1)?.number ?? after;
  const votes = groups
    .map((rows) => rows.filter(({ upvote, void_reason }) => upvote && !rejected.has(void_reason)))
    .filter((rows) => rows.length > 0);
  // A client ends at a page without votes.
  if (votes.length === 0 && groups.length > 0 && passed < passedMax)
    return readVotes(app, ref, next, passed + 1);
  return { votes, next };
};

interface VotesPage {
  readonly votes: readonly (readonly LogRow[])[];
  readonly next: number;
}

/** A vote that a reset or a redeem has voided was cast, too. */
const rejected: ReadonlySet<string> = new Set(['operator', 'deleted']);

const listVotes = async (app: App, id: string, query: Static<typeof VotesQuery>): Promise<Reply> => {
  const { cursor, startDate } = query;
  if (cursor === undefined && startDate === undefined)
    throw createValidationError('query', { '/startDate': 'must be sent, or a cursor' });
  const { ref, head } = await readFlushedHead(app, { kind: 'bot', id });
  const after =
    cursor === undefined
      ? await app.catalogue.voteLog.findBefore(ref, new Date(startDate as string))
      : checkCursor(cursor, head, 'cursor');
  const { votes, next } = await readVotes(app, ref, after);
  const { window } = await app.engine.readVoteStatus('bot', id, '0');
  const data = votes.map(([first, ...rest]) => showVote(first as LogRow, 1 + rest.length, window.waitMs));
  return replyOk({ data, cursor: formatCursor(head.epoch, next) });
};

const showVote = ({ author, created_at }: LogRow, weight: number, windowMs: number) => ({
  user_id: author,
  platform_id: author,
  created_at: toTimestamp(created_at),
  expires_at: toTimestamp(new Date(created_at.getTime() + windowMs)),
  weight,
});

const showLastVote = async (app: App, id: string, user: string): Promise<Reply> => {
  const { view, votedAtMs, waitMs } = await app.engine.readVoteStatus('bot', id, user);
  if (waitMs === 0) throw createNotFoundError('vote');
  await app.engine.waitForFlush('bot', id);
  const votes = await app.catalogue.votes.valid({ user, ref: view.ref });
  const counted = votes.filter(({ created_at }) => created_at.getTime() === votedAtMs);
  return replyOk({
    created_at: toTimestamp(new Date(votedAtMs)),
    expires_at: toTimestamp(new Date(app.clock.nowMs() + waitMs)),
    weight: Math.max(1, counted.length),
  });
};

/** Problem details, with the wait as top.gg has it. */
export const showProblem = (error: DomainError, requestId: string): Reply => {
  const { code, message, context, retryAfterSeconds: wait } = error;
  const status = code === 'validation_failed' ? 422 : errorStatuses[code];
  return replyProblem(status, {
    detail: message,
    ...(wait > 0 && { retry_after: wait }),
    context: { ...context, code, request_id: requestId },
  });
};

const replyProblem = (
  status: number,
  details: { readonly detail: string; readonly context?: object; readonly retry_after?: number },
): Reply => ({
  status,
  json: { type: 'about:blank', title: STATUS_CODES[status], status, ...details },
  headers: { 'Content-Type': 'application/problem+json; charset=utf-8' },
});

const base = { auth: { kind: 'bot' }, bearer: true, replies: { 200: Type.Unknown() } } as const;

/** Refuses what this directory cannot do. */
const refuse = (name: string, pattern: RoutePattern, detail: string): AnyRoute =>
  defineRoute(name, pattern, {
    ...base,
    summary: detail,
    bannedAllowed: true,
    handle: () => replyProblem(501, { detail }),
  });

const noCommands = 'This directory has no list of commands. Describe them in the long text of the listing.';
const noEdits = 'Edit the listing on its page, or by PATCH /bots/{id}/settings.';
const noNews = 'This directory has no announcements. Write them into the long text of the listing.';
const noBatch = 'This directory takes numbers when they come: send PATCH /api/v1/projects/@me/metrics.';

export const projectRoutes = defineRoutes('Old clients', [
  defineRoute('projectShow', 'GET /api/v1/projects/@me', {
    ...base,
    summary: 'Show the bot',
    handle: (app, request) => showProject(app, requireCaller(request).id),
  }),
  defineRoute('projectPostMetrics', 'PATCH /api/v1/projects/@me/metrics', {
    ...base,
    summary: 'Post numbers',
    replies: { 204: null },
    bannedAllowed: true,
    limit: 'stats',
    bodyLimits: statsBodyLimits,
    body: Metrics,
    handle: recordMetrics,
  }),
  defineRoute('projectListVotes', 'GET /api/v1/projects/@me/votes', {
    ...base,
    summary: 'List votes, oldest first',
    limit: 'vote_log',
    query: VotesQuery,
    handle: (app, request) => listVotes(app, requireCaller(request).id, request.query),
  }),
  defineRoute('projectCheckVote', 'GET /api/v1/projects/@me/votes/{user_id}', {
    ...base,
    summary: 'Check a vote',
    params: VoterParams,
    query: VoterQuery,
    handle: (app, request) => showLastVote(app, requireCaller(request).id, request.params.user_id),
  }),
  refuse('projectEdit', 'PATCH /api/v1/projects/@me', noEdits),
  refuse('projectPutCommands', 'PUT /api/v1/projects/@me/commands', noCommands),
  refuse('projectPostCommands', 'POST /api/v1/projects/@me/commands', noCommands),
  refuse('projectPutAnnouncement', 'PUT /api/v1/projects/@me/announcements', noNews),
  refuse('projectPostAnnouncement', 'POST /api/v1/projects/@me/announcements', noNews),
  refuse('projectPostMetricsBatch', 'POST /api/v1/projects/@me/metrics/batch', noBatch),
]);
