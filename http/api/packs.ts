/**
 * Packs (contract §2.9, §4.4): the list, one pack, and a user's own packs, whose key is their url in lower
 * case. Lists show the votes that were last flushed; the page of a pack shows the engine's votes.
 */

import { type Static, Type } from 'typebox';
import { computeVotes } from '../../engine/entity/state.ts';
import { DomainError } from '../../engine/errors.ts';
import { foldTargetId } from '../../engine/ids.ts';
import { findUnfitFields } from '../../engine/rules/listings.ts';
import { perPage } from '../../engine/rules/pages.ts';
import type { PackOutcome, PackRequest } from '../../storage/catalogue/packs/pack-edits.ts';
import type { PackPage, PackRow } from '../../storage/catalogue/packs/packs.ts';
import type { App } from '../app.ts';
import type { Auth } from '../auth/auth.ts';
import { createLimitError, createNotFoundError, createValidationError } from '../response/errors.ts';
import { noContent, type Reply, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  buildFlag,
  buildPageSchema,
  buildSum,
  buildText,
  buildTextList,
  PackUrl,
  PageQuery,
  Seo,
  Timestamp,
  User,
  UserId,
  UserParams,
} from './shared/common.ts';
import { parsePage, replyPage, toUser } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { buildLine, buildProse, buildTags } from './shared/fields.ts';
import { IndexBot, IndexServer, toIndexBot, toIndexServer } from './shared/index-entities.ts';
import { replyHints } from './shared/listing-hints.ts';
import { packUrl, plainText } from './shared/patterns.ts';

export const OwnPackParams = Type.Object({ uid: UserId, id: PackUrl });

const buildIdList = (description: string, example: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: plainText, examples: [example] }), {
    maxItems: 10,
    uniqueItems: true,
    description,
  });

const fields = {
  bots: buildIdList('Ids of bots of this directory, up to 10.', '815553000470478850'),
  name: describe(buildLine(3, 20, 'Night owls'), 'Name of the pack, 3 to 20 characters.'),
  servers: buildIdList('Ids of servers of this directory, up to 10.', '758641373074423808'),
  short: describe(
    buildProse(10, 100, 'Bots for people who never sleep.'),
    'Short description, 10 to 100 characters.',
  ),
  tags: buildTags(1),
};

export const PackBody = buildObject(
  {
    ...fields,
    bots: Type.Optional(fields.bots),
    servers: Type.Optional(fields.servers),
    url: Type.String({
      pattern: packUrl,
      description: 'Address of the pack: 3 to 20 of `a-z 0-9 -`, stored in lower case. It never changes.',
      examples: ['night-owls'],
    }),
  },
  { bots: ['815553000470478850'], tags: ['fun'] },
);
export type PackBody = Static<typeof PackBody>;

export const PackEditBody = buildObject(Type.Partial(Type.Object(fields)).properties, {
  short: 'Bots for people who hardly ever sleep.',
});
export const PackParams = Type.Object({ id: PackUrl });

export const Pack = describeObject(
  'A collection of bots and servers that a user made.',
  {
    bot_ids: buildTextList('Ids of its bots, up to 10, also of those that were deleted since.', [
      '815553000470478850',
    ]),
    bots: describe(Type.Array(IndexBot), 'Its bots that still exist, in the order of `bot_ids`.'),
    created_at: describe(Timestamp, 'When the pack was created.'),
    name: buildText('Night owls', 'Name of the pack, 3 to 20 characters.'),
    owner: describe(User, 'The user who owns it and may change it.'),
    server_ids: buildTextList('Ids of its servers, up to 10, also of those that were deleted since.', []),
    servers: describe(Type.Array(IndexServer), 'Its servers that still exist, in the order of `server_ids`.'),
    short: buildText('Bots for people who never sleep.', 'Short description, 10 to 100 characters.'),
    tags: buildTextList('Tags, new ones: 1 to 5 different ones of 3 to 30 characters.', ['fun']),
    url: buildText('night-owls', 'Its address and id: 3 to 20 of `a-z 0-9 -`. It never changes.'),
    vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
    votes: buildSum(3, 'Upvotes minus downvotes; may be negative. In lists a few seconds late.'),
  },
  { servers: [] },
);
export type Pack = Static<typeof Pack>;
const ownAuth: Auth = { kind: 'self', user: 'uid' };

export const packRoutes = defineRoutes('Packs', [
  definePublicRoute('listPacks', 'GET /packs/@all', {
    summary: 'List packs',
    description: 'All packs, newest first, 12 per page.',
    caching: 'list',
    query: PageQuery,
    replies: { 200: buildPageSchema(Pack, perPage.packs) },
    handle: async (app, { query }) =>
      replyPage(await app.catalogue.packs.page(parsePage(query)), perPage.packs, (rows) =>
        toPacks(rows, app.clock.nowMs()),
      ),
  }),
  definePublicRoute('getPack', 'GET /packs/{id}', {
    summary: 'Get a pack',
    description: 'One pack by its url, with its bots and servers.',
    caching: 'entity',
    params: PackParams,
    replies: { 200: Pack },
    handle: async (app, { params }) => {
      const [pack] = toPacks(await app.catalogue.packs.find(params.id), app.clock.nowMs());
      if (pack === undefined) throw createNotFoundError('pack');
      const view = await app.engine.read('pack', pack.url);
      return replyOk({ ...pack, votes: computeVotes(view.state) });
    },
  }),
  definePublicRoute('getPackSeo', 'GET /packs/{id}/seo', {
    summary: 'Get the preview of a pack',
    description: 'What search engines and link previews show of a pack, by url or name.',
    caching: 'entity',
    params: PackParams,
    replies: { 200: Seo },
    handle: async (app, { params }) => {
      const pack = await app.catalogue.packs.summary(params.id);
      if (pack === null) throw createNotFoundError('pack');
      return replyOk<Seo>({ avatar: '', id: pack.url, name: pack.name, short: pack.short });
    },
  }),
  defineRoute('createPack', 'PUT /users/{id}/packs', {
    summary: 'Create a pack',
    description:
      'Creates a pack of up to 10 bots and 10 servers, at least one of them. Its `url` is its id and ' +
      'never changes.',
    auth: { kind: 'self', user: 'id' },
    params: UserParams,
    body: PackBody,
    replies: { 204: null },
    errors: ['already_exists', 'limit_reached'],
    check: ({ body }) => checkPackBody(body),
    handle: async (app, { params, body }) => {
      const { packsPerUserMax } = app.settings;
      const { url, bots = [], servers = [], ...fields } = body;
      const request = { userId: params.id, url: foldTargetId('pack', url) };
      const pack = { ...fields, bots, servers };
      return toPackReply(
        app,
        await app.catalogue.packs.edits.create({ ...request, ownedMax: packsPerUserMax }, pack),
      );
    },
  }),
  defineRoute('editPack', 'PATCH /users/{uid}/packs/{id}', {
    summary: 'Change a pack',
    description:
      "Changes one of the user's packs. Absent fields keep their value; a given list replaces the old " +
      'list. Only the fields that it brings are judged.',
    hinted: true,
    auth: ownAuth,
    params: OwnPackParams,
    body: PackEditBody,
    replies: { 204: null },
    handle: async (app, { params, body }) => {
      const { name = null, short = null, tags = null, bots = null, servers = null } = body;
      const changes = { name, short, tags, bots, servers };
      const outcome = await app.catalogue.packs.edits.edit(toPackRequest(params), changes);
      if (outcome.kind !== 'done') return toPackReply(app, outcome);
      return replyHints('', findUnfitFields('pack', outcome.listing ?? {}));
    },
  }),
  defineRoute('deletePack', 'DELETE /users/{uid}/packs/{id}', {
    summary: 'Delete a pack',
    description: "Deletes one of the user's packs for good. Its votes become void.",
    auth: ownAuth,
    params: OwnPackParams,
    replies: { 204: null },
    handle: (app, { params }) => deletePack(app, params),
  }),
]);

const emptyPackMessage = 'must contain a bot or a server: a pack cannot be empty';

const createEmptyPackError = (): DomainError =>
  createValidationError('body', { '/bots': emptyPackMessage, '/servers': emptyPackMessage });

/** Throws `validation_failed` for a new pack without bots and servers. */
export const checkPackBody = (body: PackBody): void => {
  if ((body.bots ?? []).length + (body.servers ?? []).length === 0) throw createEmptyPackError();
};

const createUnknownEntitiesError = (bots: readonly string[], servers: readonly string[]): DomainError => {
  const context: Record<string, string> = {};
  if (bots.length > 0) context['/bots'] = `there is no bot ${bots.join(', ')}`;
  if (servers.length > 0) context['/servers'] = `there is no server ${servers.join(', ')}`;
  return createValidationError('body', context);
};

const toPackError = (outcome: Exclude<PackOutcome, { kind: 'done' }>, max: number): DomainError => {
  switch (outcome.kind) {
    case 'unknown':
      return createUnknownEntitiesError(outcome.bots, outcome.servers);
    case 'taken':
      return new DomainError('already_exists', 'There is already a pack with this url.', {
        '/url': 'is taken',
      });
    case 'limit_reached':
      return createLimitError(`You have ${max} packs, which is the maximum. Delete one first.`, max);
    case 'not_found':
      return createNotFoundError('pack');
    case 'not_owner':
      return new DomainError('forbidden', 'Only the owner of a pack may change or delete it.');
    case 'would_be_empty':
      return createEmptyPackError();
  }
};

const toPackReply = (app: App, outcome: PackOutcome): Reply => {
  if (outcome.kind !== 'done') throw toPackError(outcome, app.settings.packsPerUserMax);
  return noContent;
};

const toPackRequest = (params: { readonly uid: string; readonly id: string }): PackRequest => ({
  userId: params.uid,
  url: foldTargetId('pack', params.id),
});

/** When it resolves, the pack is gone on every node. */
export const deletePack = async (app: App, params: { readonly uid: string; readonly id: string }) => {
  const request = toPackRequest(params);
  await app.engine.waitForFlush('pack', request.url);
  const reply = toPackReply(app, await app.catalogue.packs.edits.remove(request));
  await app.engine.deliverAdjustments('pack', request.url);
  return reply;
};

const toPack = (row: PackRow, page: PackPage, nowMs: number): Pack =>
  showRow(Pack, row, {
    bots: row.bot_ids.flatMap((id) => page.bots.get(id) ?? []).map((bot) => toIndexBot(bot, nowMs)),
    owner: toUser(row.owner, { id: row.owner_id, bot: false }),
    servers: row.server_ids
      .flatMap((id) => page.servers.get(id) ?? [])
      .map((server) => toIndexServer(server, nowMs)),
  });

export const toPacks = (page: PackPage, nowMs: number): Pack[] =>
  page.packs.map((row) => toPack(row, page, nowMs));
