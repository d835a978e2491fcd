/**
 * Routes for bots that use the libraries of other directories: their paths, fields and replies, translated to
 * the operations of this one (docs/bots/libraries.md).
 *
 * Served only with COMPAT=on. Nothing is decided here: a post is one of totals or of a shard, and reads are
 * those of votes.ts and vote-log.ts. Two things are owed to the libraries: topggpy parses a reply only if its
 * Content-Type names the charset, and BLAPI and topggpy leave out the id of shard 0.
 */
import { type Static, Type } from 'typebox';
import { isWeekend } from '../../engine/entity/votes.ts';
import { DomainError, errorStatuses } from '../../engine/errors.ts';
import { limits } from '../../engine/limits.ts';
import type { LogRow } from '../../storage/catalogue/votes/vote-log.ts';
import type { App } from '../app.ts';
import type { Caller } from '../auth/auth.ts';
import { requireCaller } from '../auth/authorise.ts';
import { createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyMessage, replyOk, replyText, toTimestamp } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import { recordShards } from './bot-shards.ts';
import { recordStats, statsBodyLimits } from './bots/stats.ts';
import { readOldBody } from './compat-body.ts';
import { projectRoutes, projectsPath, showProblem } from './compat-projects.ts';
import { BotIdParams, UserId } from './shared/common.ts';
import { toUser } from './shared/convert.ts';
import { readFlushedHead } from './vote-log.ts';

const Amount = Type.Integer({ minimum: 0, maximum: limits.partNumberMax });
const Amounts = Type.Array(Amount, { maxItems: limits.shardListEntriesMax });
const ShardNumber = Type.Integer({ minimum: 0, maximum: limits.shardListEntriesMax });
const MaybeNumber = Type.Optional(Type.Union([Amount, Type.Null()]));
const MaybeShard = Type.Optional(Type.Union([ShardNumber, Type.Null()]));
const Servers = Type.Optional(Type.Union([Amount, Amounts, Type.Null()]));

const serverNames = ['server_count', 'guilds', 'guildCount', 'serverCount', 'servers', 'count'] as const;

const OldStats = Type.Object({
  server_count: Servers,
  guilds: Servers,
  guildCount: Servers,
  serverCount: Servers,
  servers: Servers,
  count: Servers,
  users: MaybeNumber,
  shard_count: MaybeShard,
  shardCount: MaybeShard,
  shard_id: MaybeShard,
  shardId: MaybeShard,
  shards: Type.Optional(Type.Union([ShardNumber, Amounts, Type.Null()])),
});
type OldStats = Static<typeof OldStats>;
const statsNames: ReadonlySet<string> = new Set(Object.keys(OldStats.properties));

/** A post by the names of this directory. */
interface OldPost {
  readonly servers: number | undefined;
  readonly users: number | undefined;
  readonly shardCount: number | undefined;
  readonly shardId: number | undefined;
  /** The servers of every shard. */
  readonly list: number[] | undefined;
}

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

/**
 * `null` is absent, and so are an empty list and a shard count of 0. A list of all shards says more than the
 * other fields.
 */
const readPost = (body: OldStats): OldPost => {
  const servers = serverNames.map((name) => body[name]).find(isGiven);
  const list = [servers, body.shards].filter(isGiven).find((value) => Array.isArray(value));
  const shards = typeof body.shards === 'number' ? body.shards : 0;
  const shardCount = body.shard_count || body.shardCount || shards || list?.length;
  return {
    servers: typeof servers === 'number' && list === undefined ? servers : list?.reduce(add, 0),
    users: body.users ?? undefined,
    shardCount,
    shardId: list === undefined ? (body.shard_id ?? body.shardId ?? undefined) : undefined,
    list,
  };
};

const add = (sum: number, value: number): number => sum + value;

interface OldRequest {
  readonly caller: Caller | null;
  readonly params: { readonly id?: string };
}

/** The caller, who may name only itself: the vote log can be for owners alone. */
const requireOwn = (request: OldRequest): Caller => {
  const caller = requireCaller(request);
  const { id = caller.id } = request.params;
  if (id !== caller.id) throw new DomainError('forbidden', 'The token belongs to another bot.');
  return caller;
};

/**
 * The number of shards that a post of one leaves out, as the bot's other posts tell it. `undefined` for the
 * first shard of a bot that has posted none: it may be the only one.
 */
const findShardCount = async (app: App, botId: string, shardId: number): Promise<number | undefined> => {
  const { state } = await app.engine.read('bot', botId);
  const known = state.parts?.building?.shardCount ?? +state.shards;
  if (known > shardId) return known;
  if (known === 0 && shardId === 0) return undefined;
  throw createValidationError('body', { '/shard_count': 'must be sent once, because shard_id is' });
};

/** Records a post of one shard. */
const recordOldShard = async (app: App, caller: Caller, post: OldPost): Promise<unknown> => {
  const { servers, users, shardCount, shardId = 0 } = post;
  const shard_count = shardCount ?? (await findShardCount(app, caller.id, shardId));
  if (shard_count === undefined) return recordTotals(app, caller, post);
  if (shardId >= shard_count)
    throw createValidationError('body', { '/shard_id': `must be less than the ${shard_count} shards` });
  const shards = [
    { id: shardId, ...(servers !== undefined && { servers }), ...(users !== undefined && { users }) },
  ];
  return recordShards(app, { caller, body: { shard_count, shards } });
};

/** Records a post that names several shards, but not whose numbers it has. */
const recordTotals = (app: App, caller: Caller, post: OldPost): Promise<unknown> => {
  const { servers, users, shardCount = 0, list } = post;
  if (shardCount > 1 && list === undefined) {
    app.counts.statsPosts += 1;
    return app.engine.postParts(caller.id, {
      shardCount,
      parts: [{ id: 0, servers, users }],
      orTotals: true,
    });
  }
  const body = {
    ...(servers !== undefined && { servers }),
    ...(users !== undefined && { users }),
    ...(shardCount > 0 && { shards: shardCount }),
    ...(list && { shard_list: list }),
  };
  return recordStats(app, { caller, body, bodyText: '' });
};

/** *Hot* when it resolves. */
const recordOldStats = async (app: App, request: OldRequest & { readonly body: OldStats }) => {
  const caller = requireOwn(request);
  const post = readPost(request.body);
  if (post.servers === undefined && post.users === undefined && post.shardCount === undefined)
    throw createValidationError('body', { '/server_count': 'must be the number of servers' });
  await (post.shardId === undefined ? recordTotals : recordOldShard)(app, caller, post);
  return replyMessage('Stats recorded.');
};

/** Every digit, as posted to `/bots/stats`. */
const showOldStats = async (app: App, idOrVanity: string): Promise<Reply> => {
  const profile = requireFound(await app.catalogue.bots.find(idOrVanity), 'bot');
  const { servers, shards, shardList } = (await app.engine.read('bot', profile.id)).state;
  return replyText(`{"server_count":${servers},"shard_count":${shards},"shards":[${shardList}]}`);
};

const checkOldVote = async (app: App, botId: string, userId: string): Promise<Reply> => {
  const { waitMs } = await app.engine.readVoteStatus('bot', botId, userId);
  return replyOk({ voted: waitMs > 0 ? 1 : 0 });
};

interface OldVote {
  readonly row: LogRow;
  readonly user: ReturnType<typeof toUser>;
}

/** The upvotes that count among the newest votes, newest first, each with its voter. */
const listOldVotes = async (app: App, id: string, limit: number): Promise<readonly OldVote[]> => {
  const { ref, head } = await readFlushedHead(app, { kind: 'bot', id });
  const page = await app.catalogue.voteLog.page({
    ref,
    after: Math.max(0, head.number - limit),
    limit,
  });
  const rows = page.filter(({ upvote, void: isVoid }) => upvote && !isVoid).reverse();
  const people = await app.catalogue.findPeople([...new Set(rows.map(({ author }) => author))]);
  return rows.map((row) => ({
    row,
    user: toUser(people.get(row.author) ?? null, { id: row.author, bot: false }),
  }));
};

const showVoters = async (app: App, id: string): Promise<Reply> => {
  const votes = await listOldVotes(app, id, 1_000);
  return replyOk(votes.map(({ user: { id, username, avatar } }) => ({ id, username, avatar })));
};

const recentMs = 12 * 3_600_000;

const showUpvotes = async (app: App, id: string): Promise<Reply> => {
  const sinceMs = app.clock.nowMs() - recentMs;
  const votes = (await listOldVotes(app, id, 500)).filter(({ row }) => row.created_at.getTime() >= sinceMs);
  const upvotes = votes.map(({ row, user: { id: user_id, username, avatar } }) => ({
    user_id,
    username,
    discriminator: '0',
    avatar,
    timestamp: toTimestamp(row.created_at),
  }));
  return replyOk({ total: upvotes.length, upvotes });
};

const headers = { 'Content-Type': 'application/json; charset=utf-8' };

/** Errors keep status, message and wait; `error` and `retry-after` are the names that the libraries know. */
const showOldError = (
  _: App,
  { requestId: request_id, url = '' }: { readonly requestId: string; readonly url?: string },
  error: DomainError,
): Reply => {
  if (url.startsWith(projectsPath)) return showProblem(error, request_id);
  const { code, message, context, retryAfterSeconds: wait } = error;
  return {
    status: errorStatuses[code],
    json: {
      error: message,
      message,
      context: { ...context, code, request_id },
      ...(wait > 0 && { 'retry-after': wait }),
    },
    headers: {
      ...headers,
      ...(wait > 0 && { 'Retry-After': String(Math.ceil(wait)) }),
      ...(code === 'token_invalid' && { 'X-Session-Invalid': 'true' }),
    },
  };
};

const VoterQuery = Type.Object({ userId: UserId });
const base = { replies: { 200: Type.Unknown() } } as const;
const ofBots = { ...base, auth: { kind: 'bot' } } as const;
const posting = {
  ...ofBots,
  bannedAllowed: true,
  limit: 'stats',
  bodyLimits: statsBodyLimits,
  body: OldStats,
  readBody: (text: string) => readOldBody(text, statsBodyLimits, statsNames),
  handle: recordOldStats,
} as const;
const listing = { ...ofBots, limit: 'vote_log' } as const;

const oldRoutes = defineRoutes('Old clients', [
  defineRoute('oldPostStats', 'POST /api/bots/stats', {
    ...posting,
    summary: 'Post stats as at top.gg',
  }),
  defineRoute('oldPostBotStats', 'POST /api/bots/{id}/stats', {
    ...posting,
    summary: 'Post stats as BotBlock does',
    params: BotIdParams,
  }),
  defineRoute('oldPostBotStatsV1', 'POST /api/v1/bots/{id}/stats', {
    ...posting,
    summary: 'Post stats as at discordbotlist.com',
    params: BotIdParams,
  }),
  definePublicRoute('oldGetStats', 'GET /api/bots/{id}/stats', {
    ...base,
    summary: 'Show stats',
    params: BotIdParams,
    handle: (app, { params }) => showOldStats(app, params.id),
  }),
  defineRoute('oldCheckVote', 'GET /api/bots/check', {
    ...ofBots,
    summary: 'Check a vote for the calling bot',
    query: VoterQuery,
    handle: (app, request) => checkOldVote(app, requireCaller(request).id, request.query.userId),
  }),
  defineRoute('oldCheckBotVote', 'GET /api/bots/{id}/check', {
    ...ofBots,
    summary: 'Check a vote',
    params: BotIdParams,
    query: VoterQuery,
    handle: (app, request) => checkOldVote(app, requireOwn(request).id, request.query.userId),
  }),
  defineRoute('oldListVotes', 'GET /api/bots/votes', {
    ...listing,
    summary: 'List the voters of the newest 1,000 votes for the calling bot',
    handle: (app, request) => showVoters(app, requireCaller(request).id),
  }),
  defineRoute('oldListBotVotes', 'GET /api/bots/{id}/votes', {
    ...listing,
    summary: 'List the voters of the newest 1,000 votes',
    params: BotIdParams,
    handle: (app, request) => showVoters(app, requireOwn(request).id),
  }),
  defineRoute('oldListUpvotes', 'GET /api/v1/bots/{id}/upvotes', {
    ...listing,
    summary: 'List up to 500 upvotes of the last 12 hours',
    params: BotIdParams,
    handle: (app, request) => showUpvotes(app, requireOwn(request).id),
  }),
  definePublicRoute('oldWeekend', 'GET /api/weekend', {
    ...base,
    summary: 'Tell whether it is weekend',
    handle: (app) => replyOk({ is_weekend: isWeekend(app.clock.nowMs()) }),
  }),
]);

/** The routes with replies and errors as the libraries expect them. */
export const compatRoutes: readonly AnyRoute[] = [...oldRoutes, ...projectRoutes].map((route) => ({
  ...route,
  handle: async (app, request) => ({ headers, ...(await route.handle(app, request)) }),
  replaceError: showOldError,
  replacesErrorsBelow: '/api/',
}));
