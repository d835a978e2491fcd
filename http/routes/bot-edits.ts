/**
 * Routes that look up, add, change, transfer and delete bots (contract §4.2).
 */
import type { Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import { createBot, deleteBot, editBot, transferBot } from '../handlers/bot-edits.ts';
import { showBotMeta } from '../handlers/bot-meta.ts';
import { requireCaller } from '../handlers/request-values.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import {
  BotBody,
  BotEditParams,
  BotSettingsBody,
  checkBotAddresses,
  TransferBody,
  TransferParams,
} from '../schema/bot-edits.ts';
import { BotMeta, BotMetaParams, BotMetaQuery } from '../schema/bot-meta.ts';

const buildBotAuth = (permission: Permission, kinds: readonly TokenKind[]): Auth => ({
  kind: 'entity',
  kinds,
  permission,
  type: '=bot',
  id: 'id',
});

export const botEditRoutes = defineRoutes('Bots', [
  defineRoute({
    name: 'createBot',
    pattern: 'PUT /bots',
    summary: 'Add a bot',
    description:
      'The bot is pending until the operator has reviewed it. The caller adds it for themselves, with ' +
      'an unlimited session, or for a team in which they have the permission `add_bots`.',
    auth: { kind: 'owner', kinds: ['user', 'team'], permission: 'add_bots', field: 'team_owner' },
    limit: 'bot_create',
    callsOutbound: true,
    body: BotBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) => createBot(app, requireCaller(request), request.body),
  }),
  defineRoute({
    name: 'getBotMeta',
    pattern: 'GET /bots/{client_id}/meta',
    summary: 'Look up a bot',
    description:
      'What the platform and this directory know about an application, to fill in a form. If a ' +
      'look-up fails, `fetch_errors` says why, and the other fields hold what the directory knows.',
    auth: { kind: 'kinds', kinds: ['user', 'team'], permission: 'add_bots' },
    limit: 'bot_meta',
    callsOutbound: true,
    params: BotMetaParams,
    query: BotMetaQuery,
    replies: { 200: BotMeta },
    handle: (app, { params, query }) => showBotMeta(app, params.client_id, query.fallback_bot_id),
  }),
  defineRoute({
    name: 'editBot',
    pattern: 'PATCH /bots/{id}/settings',
    summary: 'Change a bot',
    description:
      'Absent fields keep their value; a given list replaces the old list. An edit never changes ' +
      '`type`.',
    auth: buildBotAuth('edit_bots', ['user', 'team', 'bot']),
    params: BotEditParams,
    body: BotSettingsBody,
    replies: { 204: null },
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) =>
      editBot(app, { botId: request.params.id, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'deleteBot',
    pattern: 'DELETE /bots/{id}',
    summary: 'Delete a bot',
    description:
      'Deletes it for good: its votes become void, its numbers, reminders and vanity code are gone, ' +
      'and its sessions end.',
    auth: buildBotAuth('delete_bots', ['user', 'team']),
    params: BotEditParams,
    replies: { 204: null },
    handle: (app, request) => deleteBot(app, request.params.id, requireCaller(request)),
  }),
  defineRoute({
    name: 'transferBot',
    pattern: 'PATCH /users/{uid}/bots/{bid}/teams',
    summary: 'Give a bot to a team',
    description:
      'Its sessions end; id, numbers, votes and vanity code stay. To the team that owns it already, ' +
      'nothing changes.',
    auth: {
      kind: 'entity',
      kinds: ['user'],
      permission: 'delete_bots',
      type: '=bot',
      id: 'bid',
      user: 'uid',
      into: { field: 'team_id', permission: 'add_bots' },
    },
    params: TransferParams,
    body: TransferBody,
    replies: { 204: null },
    handle: (app, request) =>
      transferBot(app, { botId: request.params.bid, caller: requireCaller(request) }, request.body.team_id),
  }),
]);
