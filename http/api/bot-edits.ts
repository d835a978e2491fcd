/**
 * Looks up, adds, changes, transfers and deletes bots (contract §4.2).
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a commit it
 * drops the cached profile, and the cached sessions if the change ended tokens. A deletion is delivered to
 * the engine before the reply is sent. A new bot is not announced: the engine looks up unknown entities in
 * SQL. Lengths count Unicode code points; `checkBotAddresses` checks what a schema cannot.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { findUnfitFields } from '../../engine/rules/listings.ts';
import type { Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { BotActor, BotCreation, BotRefusal } from '../../storage/catalogue/bots/bot-edits.ts';
import type { App } from '../app.ts';
import type { Auth, Caller } from '../auth/auth.ts';
import { createPermissionError, requireCaller } from '../auth/authorise.ts';
import { createNotFoundError } from '../response/errors.ts';
import { noContent, type Reply } from '../response/reply.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { BotMeta, BotMetaParams, BotMetaQuery, lookUpNewBot, showBotMeta } from './bot-meta.ts';
import { toTeamActor } from './members.ts';
import { BotId, BotIdParams, Flag, TargetId, toNullable, UserId } from './shared/common.ts';
import { buildObject, describe } from './shared/example.ts';
import {
  buildLine,
  buildProse,
  buildTags,
  checkAddresses,
  HttpsAddress,
  LinksInput,
  toLinkPointers,
  toLinkRows,
} from './shared/fields.ts';
import { replyHints } from './shared/listing-hints.ts';
import { plainText, platformId, platformIdOrEmpty } from './shared/patterns.ts';

export const TransferParams = Type.Object({ uid: UserId, bid: BotId });

const fields = {
  extra_links: LinksInput,
  invite: describe(HttpsAddress, 'An https address that adds the bot to a server, up to 512 characters.'),
  library: describe(
    buildLine(1, 50, 'discord.js'),
    'The library that the bot is written with, 1 to 50 characters.',
  ),
  long: describe(
    buildProse(500, 65_536, 'Keeps watch over your server. '.repeat(20).trim()),
    'Long description, 500 to 65,536 characters, stored as sent.',
  ),
  prefix: describe(buildLine(1, 10, '!'), 'What commands begin with, 1 to 10 characters.'),
  short: describe(
    buildProse(30, 150, 'Keeps watch over your server, day and night.'),
    'Short description, 30 to 150 characters.',
  ),
  nsfw: describe(Flag, 'Whether the bot is for adults only.'),
  tags: buildTags(1),
};

export const BotBody = buildObject(
  {
    ...fields,
    bot_id: Type.String({
      pattern: platformId,
      description: 'Id of the bot on the platform: 15 to 20 digits.',
      examples: ['815553000470478850'],
    }),
    client_id: Type.Optional(
      Type.String({
        pattern: platformIdOrEmpty,
        description: "Id of the bot's application; equal to `bot_id` if absent or empty.",
        examples: ['815553000470478850'],
      }),
    ),
    extra_links: Type.Optional(fields.extra_links),
    nsfw: Type.Optional(fields.nsfw),
    staff_note: Type.Optional(
      toNullable(
        buildProse(0, 512, 'The invite requests no permissions.'),
        'A note for the reviewers, up to 512 characters. Only they see it.',
      ),
    ),
    team_owner: Type.Optional(
      Type.String({
        maxLength: 128,
        pattern: plainText,
        description: 'Id of the team that will own the bot; the caller owns it if absent or empty.',
        examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'],
      }),
    ),
  },
  { tags: ['moderation'] },
);
export type BotBody = Static<typeof BotBody>;

export const BotSettingsBody = buildObject(
  {
    captcha_opt_out: Type.Optional(describe(Flag, 'Whether voters should be spared captchas.')),
    ...Type.Partial(Type.Object(fields)).properties,
  },
  { prefix: '?', tags: ['moderation', 'logging'] },
);
export type BotSettingsBody = Static<typeof BotSettingsBody>;

export const TransferBody = buildObject(
  { team_id: describe(TargetId, 'Id of the team that receives the bot.') },
  { team_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10' },
);

/** Throws `validation_failed`, which names the fields that are not https addresses. */
export const checkBotAddresses = (body: Pick<BotSettingsBody, 'invite' | 'extra_links'>): void =>
  checkAddresses({
    ...(body.invite === undefined ? {} : { '/invite': body.invite }),
    ...toLinkPointers(body.extra_links),
  });

const buildBotAuth = (permission: Permission, kinds: readonly TokenKind[]): Auth => ({
  kind: 'entity',
  kinds,
  permission,
  type: '=bot',
  id: 'id',
});

export const botEditRoutes = defineRoutes('Bots', [
  defineRoute('createBot', 'PUT /bots', {
    summary: 'Add a bot',
    description:
      'The bot is pending until the operator has reviewed it. The caller adds it for themselves, with ' +
      'an unlimited session, or for a team in which they have the permission `add_bots`.',
    auth: { kind: 'owner', kinds: ['user', 'team'], permission: 'add_bots', field: 'team_owner' },
    limit: 'bot_create',
    callsOutbound: true,
    hinted: true,
    body: BotBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) => createBot(app, requireCaller(request), request.body),
  }),
  defineRoute('getBotMeta', 'GET /bots/{client_id}/meta', {
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
  defineRoute('editBot', 'PATCH /bots/{id}/settings', {
    summary: 'Change a bot',
    description:
      'Absent fields keep their value; a given list replaces the old list. An edit never changes ' +
      '`type`. Only the fields that it brings are judged.',
    auth: buildBotAuth('edit_bots', ['user', 'team', 'bot']),
    params: BotIdParams,
    hinted: true,
    body: BotSettingsBody,
    replies: { 204: null },
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, request) => editBot(app, request),
  }),
  defineRoute('deleteBot', 'DELETE /bots/{id}', {
    summary: 'Delete a bot',
    description:
      'Deletes it for good: its votes become void, its numbers, reminders and vanity code are gone, ' +
      'and its sessions end.',
    auth: buildBotAuth('delete_bots', ['user', 'team']),
    params: BotIdParams,
    replies: { 204: null },
    // When it resolves, the bot is gone on every node and its tokens are refused.
    handle: async (app, request) => {
      const { id: botId } = request.params;
      await app.engine.waitForFlush('bot', botId);
      const actor = toBotActor(requireCaller(request));
      const outcome = await app.catalogue.bots.edits.remove({ botId, actor });
      if (outcome.kind !== 'done') throw toBotError(outcome);
      app.catalogue.bots.drop(botId);
      app.sessions.forgetTarget('bot', botId);
      await app.engine.deliverAdjustments('bot', botId);
      return noContent;
    },
  }),
  defineRoute('transferBot', 'PATCH /users/{uid}/bots/{bid}/teams', {
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
    // When it resolves, the bot's old tokens are refused. Webhooks get the votes that were accepted before.
    handle: async (app, request) => {
      const { bid: botId } = request.params;
      const actor = toTeamActor(requireCaller(request));
      await app.engine.waitForFlush('bot', botId);
      const outcome = await app.catalogue.bots.edits.transfer({ botId, actor }, request.body.team_id);
      if (outcome.kind === 'stayed') return noContent;
      if (outcome.kind !== 'moved') throw toBotError(outcome);
      app.catalogue.bots.drop(botId);
      app.sessions.forgetTarget('bot', botId);
      app.webhooks.onEdited();
      return noContent;
    },
  }),
]);

const toBotActor = (caller: Caller): BotActor =>
  caller.kind === 'bot' ? { kind: 'bot', id: caller.id, limits: caller.limits } : toTeamActor(caller);

const createTakenError = (pointer: string, message: string): DomainError =>
  new DomainError('already_exists', message, { [pointer]: 'is taken' });

const toBotError = (outcome: Exclude<BotCreation, { kind: 'done' }> | BotRefusal): DomainError => {
  switch (outcome.kind) {
    case 'bot_taken':
      return createTakenError('/bot_id', 'The directory already has this bot.');
    case 'client_taken':
      return createTakenError('/client_id', 'The directory already has a bot with this client id.');
    case 'unknown_bot':
      return createNotFoundError('bot');
    case 'unknown_team':
      return createNotFoundError('team');
    case 'permission_missing':
      return createPermissionError(outcome.permission);
  }
};

/** The team that will own a new bot: the named team, else the calling team; `null`: the calling user. */
const chooseTeamId = (caller: Caller, namedTeamId: string | undefined): string | null =>
  namedTeamId || (caller.kind === 'team' ? caller.id : null);

/** `PUT /bots`. *Ledger*, and visible on every node, when it resolves. A failed look-up does not matter. */
export const createBot = async (app: App, caller: Caller, body: BotBody): Promise<Reply> => {
  const ids = { botId: body.bot_id, clientId: body.client_id || body.bot_id };
  const person = await lookUpNewBot(app, ids);
  const outcome = await app.catalogue.bots.edits.create(
    {
      ...ids,
      extraLinks: toLinkRows(body.extra_links) ?? [],
      invite: body.invite,
      library: body.library,
      long: body.long,
      nsfw: body.nsfw ?? false,
      prefix: body.prefix,
      short: body.short,
      staffNote: body.staff_note ?? null,
      tags: body.tags,
      teamId: chooseTeamId(caller, body.team_owner),
      person,
    },
    toTeamActor(caller),
  );
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(body.bot_id);
  return replyHints(body.long);
};

/** `PATCH /bots/{id}/settings`: absent fields keep their value. *Ledger* when it resolves. */
const editBot = async (
  app: App,
  request: { params: { id: string }; caller: Caller | null; body: BotSettingsBody },
): Promise<Reply> => {
  const { params, body } = request;
  const actor = toBotActor(requireCaller(request));
  const outcome = await app.catalogue.bots.edits.edit(
    { botId: params.id, actor },
    {
      captchaOptOut: body.captcha_opt_out ?? null,
      extraLinks: toLinkRows(body.extra_links),
      invite: body.invite ?? null,
      library: body.library ?? null,
      long: body.long ?? null,
      nsfw: body.nsfw ?? null,
      prefix: body.prefix ?? null,
      short: body.short ?? null,
      tags: body.tags ?? null,
    },
  );
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(params.id);
  return replyHints(body.long ?? '', findUnfitFields('bot', outcome.listing));
};
