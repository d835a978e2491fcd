/**
 * Vanity codes (contract §2.17, §4.9): look up, follow and change a code.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { findVanityCodeFault, foldVanityCode, vanityKinds } from '../../engine/rules/vanity.ts';
import type { VanityRow } from '../../storage/catalogue/shared/vanity.ts';
import type { App } from '../app.ts';
import { buildTargetAuth } from '../auth/auth.ts';
import { createNotFoundError, createValidationError, requireFound } from '../response/errors.ts';
import { noContent, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import { buildName, buildTargetParams, buildText, Timestamp, Uuid } from './shared/common.ts';
import { toTarget } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { itagText, uuidText } from './shared/patterns.ts';

export const VanityParams = Type.Object({
  code: buildName(
    128,
    'A vanity code (upper and lower case are the same), or the id of a bot, server or team.',
    'keepers',
  ),
});

const uuid = new RegExp(uuidText);
export const isUuid = (text: string): boolean => uuid.test(text);

export const VanityQuery = Type.Object({
  itag: Type.Optional(
    Type.String({
      pattern: itagText,
      description: 'A UUID is looked up as an itag. `true` means that the code in the path is the itag.',
      examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14'],
    }),
  ),
});
export type VanityQuery = Static<typeof VanityQuery>;

export const Vanity = describeObject('A short address, and the entity that has it.', {
  code: buildText('keepers', 'The vanity code: 2 to 32 of `a-z 0-9 - _`.'),
  created_at: describe(Timestamp, 'When the entity got its first vanity code.'),
  itag: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
  target_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the entity that has the code.'),
  target_type: buildText('team', '`bot`, `server` or `team`.'),
});
export const VanityTargetParams = buildTargetParams(vanityKinds);

export const VanityBody = buildObject({
  code: Type.String({
    maxLength: 128,
    description: '2 to 32 characters of `a-z 0-9 - _`; upper case is changed to lower case.',
    examples: ['keepers'],
  }),
});

export const vanityRoutes = defineRoutes('Vanity', [
  definePublicRoute('getVanity', 'GET /vanity/{code}', {
    summary: 'Look up a vanity code',
    description: 'The entity that has a vanity code, a target id or an itag.',
    caching: 'entity',
    params: VanityParams,
    query: VanityQuery,
    replies: { 200: Vanity },
    check: (request) => checkItag(request),
    handle: async (app, request) => replyOk(showRow(Vanity, await findVanity(app, request))),
  }),
  definePublicRoute('followVanity', 'GET /@{code}', {
    summary: 'Follow a vanity code',
    description: 'Redirects to the entity that has the code: `Location` is a path of this API.',
    params: VanityParams,
    query: VanityQuery,
    replies: { 302: null },
    check: (request) => checkItag(request),
    handle: async (app, request) => ({
      status: 302,
      headers: { Location: toEntityPath(await findVanity(app, request)) },
    }),
  }),
  defineRoute('changeVanity', 'PATCH /{target_type}/{target_id}/vanity', {
    summary: 'Change a vanity code',
    description:
      'Gives the entity another short address. The old code is free at once; a code that another ' +
      'entity has is 409.',
    auth: buildTargetAuth('set_vanity'),
    params: VanityTargetParams,
    body: VanityBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => {
      const fault = findVanityCodeFault(foldVanityCode(body.code));
      if (fault !== null) throw createValidationError('body', { '/code': fault });
    },
    handle: async (app, { params, body }) => {
      const target = toTarget(params);
      const outcome = await app.catalogue.vanity.change(target, body.code);
      if (outcome === 'not_found') throw createNotFoundError(target.kind);
      if (outcome === 'reserved') throw createValidationError('body', { '/code': 'is reserved' });
      if (outcome === 'taken') {
        const message = 'Another entity already has this code.';
        throw new DomainError('already_exists', message, { '/code': 'is taken' });
      }
      app.catalogue[`${target.kind}s`].drop(target.id);
      return noContent;
    },
  }),
]);

interface VanityRequest {
  readonly params: { readonly code: string };
  readonly query: VanityQuery;
}

/** Throws `validation_failed` if `itag=true` and the path has no UUID. */
export const checkItag = ({ params, query }: VanityRequest): void => {
  if (query.itag !== 'true' || isUuid(params.code)) return;
  throw createValidationError('path', { '/code': 'must be a UUID if itag=true' });
};

const findVanity = async (app: App, { params, query }: VanityRequest): Promise<VanityRow> => {
  const { vanity } = app.catalogue;
  const byCode = query.itag === undefined || query.itag === 'false';
  const itag = query.itag === 'true' ? params.code : query.itag;
  const row = byCode ? await vanity.findByCode(params.code) : await vanity.findByItag(itag ?? '');
  return requireFound(row, 'vanity code');
};

const toEntityPath = ({ target_type: kind, target_id: id }: VanityRow): string =>
  `/${kind}s/${encodeURIComponent(id)}${kind === 'team' ? '?targets=team_member,bot,server' : ''}`;
