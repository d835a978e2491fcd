/**
 * Routes of packs (contract §4.4): the list, one pack, and a user's own packs.
 */
import { perPage } from '../../engine/rules/pages.ts';
import { showPackPage } from '../handlers/lists.ts';
import { checkPackBody, createPack, deletePack, editPack, showPackSeo } from '../handlers/pack-edits.ts';
import { showPack } from '../handlers/packs.ts';
import { parsePage } from '../handlers/request-values.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import { buildPageSchema, PageQuery, Seo } from '../schema/common.ts';
import { NewPackParams, OwnPackParams, PackBody, PackEditBody } from '../schema/pack-edits.ts';
import { Pack, PackParams } from '../schema/packs.ts';

const ownAuth: Auth = { kind: 'self', user: 'uid' };

export const packRoutes = defineRoutes('Packs', [
  defineRoute({
    name: 'listPacks',
    pattern: 'GET /packs/@all',
    summary: 'List packs',
    description: 'All packs, newest first, 12 per page.',
    auth: { kind: 'public' },
    caching: 'list',
    query: PageQuery,
    replies: { 200: buildPageSchema(Pack, perPage.packs) },
    errors: ['page_invalid'],
    handle: (app, { query }) => showPackPage(app, parsePage(query)),
  }),
  defineRoute({
    name: 'getPack',
    pattern: 'GET /packs/{id}',
    summary: 'Get a pack',
    description: 'One pack by its url, with its bots and servers.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: PackParams,
    replies: { 200: Pack },
    errors: ['not_found'],
    handle: (app, { params }) => showPack(app, params.id),
  }),
  defineRoute({
    name: 'getPackSeo',
    pattern: 'GET /packs/{id}/seo',
    summary: 'Get the preview of a pack',
    description: 'What search engines and link previews show of a pack, by url or name.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: PackParams,
    replies: { 200: Seo },
    errors: ['not_found'],
    handle: (app, { params }) => showPackSeo(app, params.id),
  }),
  defineRoute({
    name: 'createPack',
    pattern: 'PUT /users/{id}/packs',
    summary: 'Create a pack',
    description:
      'Creates a pack of up to 10 bots and 10 servers, at least one of them. Its `url` is its id and ' +
      'never changes.',
    auth: { kind: 'self', user: 'id' },
    params: NewPackParams,
    body: PackBody,
    replies: { 204: null },
    errors: ['already_exists', 'limit_reached'],
    check: ({ body }) => checkPackBody(body),
    handle: (app, { params, body }) => createPack(app, params.id, body),
  }),
  defineRoute({
    name: 'editPack',
    pattern: 'PATCH /users/{uid}/packs/{id}',
    summary: 'Change a pack',
    description:
      "Changes one of the user's packs. Absent fields keep their value; a given list replaces the old " +
      'list.',
    auth: ownAuth,
    params: OwnPackParams,
    body: PackEditBody,
    replies: { 204: null },
    errors: ['not_found'],
    handle: (app, { params, body }) => editPack(app, params, body),
  }),
  defineRoute({
    name: 'deletePack',
    pattern: 'DELETE /users/{uid}/packs/{id}',
    summary: 'Delete a pack',
    description: "Deletes one of the user's packs for good. Its votes become void.",
    auth: ownAuth,
    params: OwnPackParams,
    replies: { 204: null },
    errors: ['not_found'],
    handle: (app, { params }) => deletePack(app, params),
  }),
]);
