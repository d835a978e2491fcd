/**
 * Rows of vanity codes (contract §4.9): look one up, follow one, change one.
 */
import { tokenKinds } from '../../engine/rules/token.ts';
import { vanityKinds } from '../../engine/rules/vanity.ts';
import { targetKindOf } from '../replies/request.ts';
import { changeVanity, checkCode, checkItag, redirectVanity, showVanity } from '../replies/vanity.ts';
import { type AnyRow, route } from '../route.ts';
import { Vanity, VanityBody, VanityParams, VanityQuery, VanityTargetParams } from '../schema/vanity.ts';

const section = 'Vanity';

export const vanityRows: readonly AnyRow[] = [
  route({
    name: 'getVanity',
    method: 'GET',
    path: '/vanity/{code}',
    section,
    summary: 'What a vanity code, a target id or an itag stands for.',
    auth: { word: 'public' },
    caching: 'entity',
    params: VanityParams,
    query: VanityQuery,
    replies: { 200: Vanity },
    errors: ['not_found'],
    check: checkItag,
    handle: (app, request) => showVanity(app, request),
  }),
  route({
    name: 'followVanity',
    method: 'GET',
    path: '/@{code}',
    section,
    summary: 'Redirects to the entity a vanity code stands for.',
    description: 'For debugging. `Location` is a path of this interface.',
    auth: { word: 'public' },
    caching: 'no-store',
    params: VanityParams,
    query: VanityQuery,
    replies: { 302: null },
    errors: ['not_found'],
    check: checkItag,
    handle: (app, request) => redirectVanity(app, request),
  }),
  route({
    name: 'changeVanity',
    method: 'PATCH',
    path: '/{target_type}/{target_id}/vanity',
    section,
    summary: "Changes an entity's vanity code.",
    auth: {
      word: 'entity',
      kinds: tokenKinds,
      permission: 'set_vanity',
      type: 'target_type',
      id: 'target_id',
    },
    caching: 'no-store',
    params: VanityTargetParams,
    body: VanityBody,
    replies: { 204: null },
    errors: ['target_type_unsupported', 'already_exists'],
    check: ({ params, body }) => {
      targetKindOf(params.target_type, vanityKinds);
      checkCode(body.code);
    },
    handle: (app, { params, body }) => {
      const kind = targetKindOf(params.target_type, vanityKinds);
      return changeVanity(app, { kind, id: params.target_id }, body.code);
    },
  }),
];
