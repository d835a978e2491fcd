/**
 * Routes of vanity codes (contract §4.9): look up, follow and change a code.
 */
import { tokenKinds } from '../../engine/rules/token.ts';
import { toTarget } from '../handlers/request-values.ts';
import { changeVanity, checkCode, checkItag, redirectVanity, showVanity } from '../handlers/vanity.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { Vanity, VanityBody, VanityParams, VanityQuery, VanityTargetParams } from '../schema/vanity.ts';

export const vanityRoutes = defineRoutes('Vanity', [
  defineRoute({
    name: 'getVanity',
    pattern: 'GET /vanity/{code}',
    summary: 'Look up a vanity code',
    description: 'The entity that has a vanity code, a target id or an itag.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: VanityParams,
    query: VanityQuery,
    replies: { 200: Vanity },
    errors: ['not_found'],
    check: checkItag,
    handle: (app, request) => showVanity(app, request),
  }),
  defineRoute({
    name: 'followVanity',
    pattern: 'GET /@{code}',
    summary: 'Follow a vanity code',
    description: 'Redirects to the entity that has the code: `Location` is a path of this API.',
    auth: { kind: 'public' },
    params: VanityParams,
    query: VanityQuery,
    replies: { 302: null },
    errors: ['not_found'],
    check: checkItag,
    handle: (app, request) => redirectVanity(app, request),
  }),
  defineRoute({
    name: 'changeVanity',
    pattern: 'PATCH /{target_type}/{target_id}/vanity',
    summary: 'Change a vanity code',
    description:
      'Gives the entity another short address. The old code is free at once; a code that another ' +
      'entity has is 409.',
    auth: {
      kind: 'entity',
      kinds: tokenKinds,
      permission: 'set_vanity',
      type: 'target_type',
      id: 'target_id',
    },
    params: VanityTargetParams,
    body: VanityBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => void checkCode(body.code),
    handle: (app, { params, body }) => changeVanity(app, toTarget(params), body.code),
  }),
]);
