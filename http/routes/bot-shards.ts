/**
 * Routes of the shards of a bot (docs/behaviour.md, "Shards of a bot"): each process of a large bot posts its
 * own shards, and the server adds them up.
 */
import { limits } from '../../engine/limits.ts';
import { checkShardIds, recordShards, showShards } from '../handlers/bot-shards.ts';
import { parsePage } from '../handlers/request-values.ts';
import type { BodyLimits } from '../request/body.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { BotShards, ShardsBody, ShardsQuery } from '../schema/bot-shards.ts';
import { BotParams } from '../schema/bots.ts';
import { ApiResponse } from '../schema/common.ts';

/** A thousand shards with all fields take 80,000 bytes; real clients also send unknown fields. */
const shardsBodyLimits: BodyLimits = {
  bytesMax: 393_216,
  fieldsMax: 64,
  valuesMax: limits.partsPerPostMax * 16,
};

export const botShardRoutes = defineRoutes('Beyond the contract', [
  defineRoute({
    name: 'postShards',
    pattern: 'POST /bots/stats/shards',
    summary: 'Post some shards',
    description:
      'Records the statistics of some shards of the calling bot: for bots that run as several ' +
      'processes. The totals of the bot are then the sums of its shards. Another `shard_count` counts ' +
      'once all its shards were seen, or a while after the last new one; posts of the one before get 409 ' +
      '`shards_inconsistent` while those in force are posted. A post of totals to `/bots/stats` ends this. ' +
      '`context` of the reply says how things stand.',
    auth: { kind: 'bot' },
    bannedAllowed: true,
    limit: 'stats',
    body: ShardsBody,
    bodyLimits: shardsBodyLimits,
    replies: { 200: ApiResponse },
    errors: ['not_found', 'shards_inconsistent'],
    check: ({ body }) => checkShardIds(body),
    handle: (app, request) => recordShards(app, request),
  }),
  defineRoute({
    name: 'getShards',
    pattern: 'GET /bots/{id}/shards',
    summary: 'List shards',
    description:
      'Which shards of a bot are live, stale or missing, and what each posted last; 1,000 shards per ' +
      'page.',
    auth: { kind: 'public' },
    limit: 'bot_shards',
    caching: 'entity',
    params: BotParams,
    query: ShardsQuery,
    replies: { 200: BotShards },
    errors: ['not_found', 'page_invalid'],
    handle: (app, { params, query }) =>
      showShards(app, params.id, { page: parsePage(query), state: query.state }),
  }),
]);
