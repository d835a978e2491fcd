/**
 * Rows that look up, add, change, move and delete bots (contract §4.2).
 */
import type { Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import { createBot, deleteBot, editBot, transferBot } from '../handlers/bot-edits.ts';
import { showBotMeta } from '../handlers/bot-meta.ts';
import { requireCaller } from '../handlers/request-values.ts';
import { type AnyRoute, type Auth, defineRoute } from '../route.ts';
import {
  BotBody,
  BotEditParams,
  BotSettingsBody,
  checkBotAddresses,
  TransferBody,
  TransferParams,
} from '../schema/bot-edits.ts';
import { BotMeta, BotMetaParams, BotMetaQuery } from '../schema/bot-meta.ts';
import { NoParams } from '../schema/common.ts';

const section = 'Bots';

const buildBotAuth = (permission: Permission, kinds: readonly TokenKind[]): Auth => ({
  kind: 'entity',
  kinds,
  permission,
  type: '=bot',
  id: 'id',
});

export const botEditRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'createBot',
    method: 'PUT',
    path: '/bots',
    section,
    summary: 'Adds a bot, pending until it is reviewed.',
    description: 'For oneself with an unlimited session, or for a team in which the caller holds `add_bots`.',
    auth: { kind: 'owner', kinds: ['user', 'team'], permission: 'add_bots', field: 'team_owner' },
    limit: 'bot_create',
    callsOutbound: true,
    caching: 'no-store',
    params: NoParams,
    body: BotBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) => createBot(app, requireCaller(request), request.body),
  }),
  defineRoute({
    name: 'getBotMeta',
    method: 'GET',
    path: '/bots/{client_id}/meta',
    section,
    summary: 'What the platform and this directory know about an application.',
    description:
      'Look-ups that failed are named in `fetch_errors`; the rest is then what the directory knows.',
    auth: { kind: 'kinds', kinds: ['user', 'team'], permission: 'add_bots' },
    limit: 'bot_meta',
    callsOutbound: true,
    caching: 'no-store',
    params: BotMetaParams,
    query: BotMetaQuery,
    replies: { 200: BotMeta },
    errors: [],
    handle: (app, { params, query }) => showBotMeta(app, params.client_id, query.fallback_bot_id),
  }),
  defineRoute({
    name: 'editBot',
    method: 'PATCH',
    path: '/bots/{id}/settings',
    section,
    summary: 'Changes a bot. Absent fields stay as they are; lists are replaced whole.',
    auth: buildBotAuth('edit_bots', ['user', 'team', 'bot']),
    caching: 'no-store',
    params: BotEditParams,
    body: BotSettingsBody,
    replies: { 204: null },
    errors: [],
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) =>
      editBot(app, { botId: request.params.id, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'deleteBot',
    method: 'DELETE',
    path: '/bots/{id}',
    section,
    summary: 'Deletes a bot. Irreversible; its votes become void and its sessions end.',
    auth: buildBotAuth('delete_bots', ['user', 'team']),
    caching: 'no-store',
    params: BotEditParams,
    replies: { 204: null },
    errors: [],
    handle: (app, request) => deleteBot(app, request.params.id, requireCaller(request)),
  }),
  defineRoute({
    name: 'transferBot',
    method: 'PATCH',
    path: '/users/{uid}/bots/{bid}/teams',
    section,
    summary: 'Gives a bot to a team. Its sessions end; everything else stays.',
    auth: {
      kind: 'entity',
      kinds: ['user'],
      permission: 'delete_bots',
      type: '=bot',
      id: 'bid',
      user: 'uid',
      into: { field: 'team_id', permission: 'add_bots' },
    },
    caching: 'no-store',
    params: TransferParams,
    body: TransferBody,
    replies: { 204: null },
    errors: [],
    handle: (app, request) =>
      transferBot(app, { botId: request.params.bid, caller: requireCaller(request) }, request.body.team_id),
  }),
];
